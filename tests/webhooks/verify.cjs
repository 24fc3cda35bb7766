// What the Node client says of deliveries: node verify.cjs SECRET '[[headers, body], …]'.
require("@shopify/shopify-api/adapters/node");
const { shopifyApi } = require("@shopify/shopify-api");

const [, , apiSecretKey, calls] = process.argv;
const client = shopifyApi({
  apiKey: "key",
  apiSecretKey,
  hostName: "app.example",
  apiVersion: "2026-10",
  isEmbeddedApp: false,
  logger: { level: 0 },
});
const check = ([headers, rawBody]) =>
  client.webhooks.validate({ rawBody, rawRequest: { headers, method: "POST", url: "/" } });

Promise.all(JSON.parse(calls).map(check)).then((said) => console.log(JSON.stringify(said)));
