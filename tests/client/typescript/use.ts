// What an app in TypeScript does: it creates a product, reads it, lists, and reads what is wrong with another one.
import createClient from "openapi-fetch";

import type { components, paths } from "./interface.js";

type Product = components["schemas"]["Product"];
type Errors = components["schemas"]["Errors"]["errors"];

export async function use(baseUrl: string, token: string) {
  const client = createClient<paths>({ baseUrl, headers: { "X-Shopify-Access-Token": token } });
  const create = (product: components["schemas"]["ProductCreate"]) =>
    client.POST("/admin/api/2026-10/products.json", { body: { product } });

  const { data, error } = await create({ title: "Mug", tags: "b, a", variants: [{ price: "9.50", sku: "MUG" }] });
  if (error) throw new Error(JSON.stringify(error.errors));
  const made: Product = data.product;
  const price: string | undefined = made.variants?.[0]?.price;

  // Every field of an answer may be missing, since `fields` leaves out what was not asked for.
  if (made.id === undefined) throw new Error("no id");
  const read = await client.GET("/admin/api/2026-10/products/{id}.json", { params: { path: { id: made.id } } });
  const listed = await client.GET("/admin/api/2026-10/products.json", { params: { query: { limit: 5 } } });
  const titles: (string | undefined)[] | undefined = listed.data?.products.map((each) => each.title);

  const refused = await create({ title: "" });
  const errors: Errors | undefined = refused.error?.errors;

  return { made, price, read: read.data?.product, titles, status: refused.response.status, errors };
}
