"""Product data of the demo shop, which sells homeware."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class DemoProductType:
    """Attributes that all demo products of one type share.

    ``shape`` is a key of ``SHAPES``. ``first`` and ``second`` are the names and values of the options. If the first
    values are colors, the images use these colors. ``text`` is the last sentence of each product's description.
    """

    shape: str
    first: tuple[str, tuple[str, ...]]
    second: tuple[str, tuple[str, ...]] | None
    grams: int
    tags: str
    text: str


@dataclass(frozen=True, slots=True)
class DemoProduct:
    title: str
    type: str
    vendor: str
    price: Decimal
    tags: str
    text: str
    compare_at_price: Decimal | None = None
    status: str = "active"


KINDS = {
    "Mugs": DemoProductType(
        "mug", ("Color", ("Chalk", "Moss", "Ink")), None, 340, "ceramic, table", "Holds 35 cl; fine in the dishwasher."
    ),
    "Bowls": DemoProductType(
        "bowl", ("Color", ("Chalk", "Rust")), ("Size", ("Small", "Large")), 620, "ceramic, table", "Stacks neatly."
    ),
    "Bags": DemoProductType(
        "bag", ("Color", ("Sand", "Olive", "Ink")), None, 480, "canvas, travel", "Waxed cotton; wipe clean only."
    ),
    "Lamps": DemoProductType(
        "lamp", ("Color", ("Brass", "Chalk")), None, 1900, "light, desk", "With a two-meter textile cable."
    ),
    "Candles": DemoProductType(
        "candle", ("Size", ("20 hours", "40 hours")), None, 300, "scent, gift", "Soy wax, cotton wick."
    ),
    "Notebooks": DemoProductType(
        "book", ("Ruling", ("Plain", "Lined", "Dotted")), None, 260, "paper, desk", "Lies flat; 192 pages."
    ),
    "Blankets": DemoProductType(
        "blanket", ("Color", ("Chalk", "Moss", "Rust")), None, 1300, "wool, bedroom", "130 by 180 cm."
    ),
    "Shirts": DemoProductType(
        "shirt", ("Color", ("Chalk", "Ink")), ("Size", ("S", "M", "L", "XL")), 240, "cotton, wear", "Organic cotton."
    ),
    "Bottles": DemoProductType(
        "bottle", ("Color", ("Moss", "Ink", "Rust")), None, 310, "steel, travel", "Keeps tea hot for twelve hours."
    ),
    "Chairs": DemoProductType("chair", ("Wood", ("Oak", "Ash")), None, 4600, "wood, furniture", "Comes assembled."),
}

_ROWS = """
Harbor mug|Mugs|Fernhill Pottery|18.00||morning|A straight mug with a handle for three fingers.
Tall breakfast mug|Mugs|Fernhill Pottery|21.00||morning, gift|Half a liter of coffee, without apology.
Espresso cup|Mugs|Fernhill Pottery|12.50|15.00|gift|Thick walls keep a short coffee warm.
Camp mug|Mugs|Northbound Supply|16.00||travel, outdoor|Enamel on steel, with a rolled rim.
Speckled latte cup|Mugs|Kiln & Co.|24.00||morning|No two have the same speckle.
Tea cup with lid|Mugs|Kiln & Co.|28.00|34.00|gift|The lid doubles as a saucer for the leaves.
Porridge bowl|Bowls|Fernhill Pottery|22.00||morning|Deep enough for berries on top.
Ramen bowl|Bowls|Kiln & Co.|29.00||dinner|With a notch for the chopsticks.
Serving bowl|Bowls|Kiln & Co.|46.00|54.00|dinner, gift|For salad, pasta, or all of the bread.
Nesting bowls|Bowls|Fernhill Pottery|58.00||gift|Three that become one in the cupboard.
Pinch bowl|Bowls|Fernhill Pottery|9.50||kitchen|For salt within reach.
Weekender bag|Bags|Northbound Supply|148.00||weekend|Two nights, one pair of shoes, one book.
Market tote|Bags|Loom & Field|39.00||kitchen|Stands up by itself while you fill it.
Roll-top backpack|Bags|Northbound Supply|119.00|139.00|outdoor|Twenty liters that close against the rain.
Wash bag|Bags|Northbound Supply|34.00||weekend|Hangs from a hook, opens flat.
Laptop sleeve|Bags|Loom & Field|45.00||desk|Felt inside, canvas outside.
Bike pannier|Bags|Northbound Supply|92.00||outdoor|Clips on with one hand.
Reading lamp|Lamps|Brightwater|129.00||bedroom|A cone of light for one page at a time.
Desk lamp No. 3|Lamps|Brightwater|164.00|189.00|study|Balanced by a counterweight, not by springs.
Paper lantern|Lamps|Brightwater|58.00||living room|Folds flat when you move.
Clip lamp|Lamps|Brightwater|44.00||study|Holds on to shelves up to four centimetres thick.
Mushroom lamp|Lamps|Kiln & Co.|210.00||living room|Ceramic foot, linen shade.
Cedar candle|Candles|Wick & Wren|26.00||winter|A cabin after rain.
Fig leaf candle|Candles|Wick & Wren|26.00||summer|Green, a little bitter, very calm.
Beeswax pillar|Candles|Wick & Wren|19.00||winter|Smells of nothing but honey.
Sea salt candle|Candles|Wick & Wren|26.00|30.00|summer|An open window by the harbor.
Tea lights, set of 12|Candles|Wick & Wren|11.00||dinner|Four hours each.
Travel tin candle|Candles|Wick & Wren|14.00||travel|For hotel rooms that need it.
Field notebook|Notebooks|Paper Mill Lane|14.00||outdoor|Takes rain and pencil.
Ledger|Notebooks|Paper Mill Lane|32.00||study|Numbered pages and a ribbon.
Pocket notebooks, set of 3|Notebooks|Paper Mill Lane|12.00||travel|One for lists, one for ideas, one to lose.
Sketchbook|Notebooks|Paper Mill Lane|24.00|28.00|gift|Heavy paper that forgives watercolor.
Weekly planner|Notebooks|Paper Mill Lane|27.00||study|Undated, so no week is wasted.
Guest book|Notebooks|Paper Mill Lane|38.00||gift|Bound in linen.
Lambswool throw|Blankets|Loom & Field|135.00||winter, living room|Soft on the first evening.
Picnic blanket|Blankets|Loom & Field|84.00|98.00|outdoor, summer|Waxed underneath, wool on top.
Baby blanket|Blankets|Loom & Field|62.00||gift|Washes at forty degrees.
Herringbone throw|Blankets|Loom & Field|149.00||winter|A weave that hides crumbs.
Bedspread|Blankets|Loom & Field|210.00||bedroom|Light for summer, a layer in winter.
Work shirt|Shirts|Harrow|79.00||study|Two pockets, seven buttons.
Long-sleeved tee|Shirts|Harrow|42.00||weekend|A collar that keeps its shape.
Pocket tee|Shirts|Harrow|34.00|40.00|weekend, summer|Heavy jersey, slightly boxy.
Overshirt|Shirts|Harrow|118.00||outdoor|The jacket you wear indoors.
Linen shirt|Shirts|Harrow|89.00||summer|Creases well.
Night shirt|Shirts|Harrow|64.00||bedroom|Brushed cotton, to the knee.
Thermos flask|Bottles|Northbound Supply|39.00||outdoor|A cup for a lid.
Everyday bottle|Bottles|Northbound Supply|28.00||desk|Fits the bag and the bicycle.
Growler|Bottles|Northbound Supply|54.00|62.00|outdoor|Two liters for four people.
Kids' bottle|Bottles|Northbound Supply|22.00||school|Opens with small hands.
Water carafe|Bottles|Kiln & Co.|36.00||table|The tumbler is the lid.
Ladder-back chair|Chairs|Oakwright|320.00||dining|Woven seat, no screws.
Folding stool|Chairs|Oakwright|96.00|115.00|small spaces|Hangs on the wall when nobody sits.
Reading chair|Chairs|Oakwright|540.00||living room|Low arms, high back.
Bench for two|Chairs|Oakwright|410.00||hallway|Shoes live underneath.
Rocking chair|Chairs|Oakwright|590.00||living room|Tuned by hand until it is quiet.
Spring vase|Bowls|Kiln & Co.|48.00||table|In the kiln; on sale from May.
""".strip()

_DRAFTS = {"Spring vase", "Guest book"}
_ARCHIVED = {"Clip lamp", "Bike pannier"}


def _parse_product(row: str) -> DemoProduct:
    title, kind, vendor, price, was, tags, text = row.split("|")
    status = "draft" if title in _DRAFTS else "archived" if title in _ARCHIVED else "active"
    return DemoProduct(title, kind, vendor, Decimal(price), tags, text, Decimal(was) if was else None, status)


DEMO_PRODUCTS = tuple(_parse_product(row) for row in _ROWS.splitlines())

_CUSTOM_ROWS = """
Slow mornings|For the first hour of the day.|Tall breakfast mug|Porridge bowl|Lambswool throw|Cedar candle
The writing desk|Paper, light, and a place for both.|Ledger|Desk lamp No. 3|Weekly planner|Harbor mug
Weekend away|Packed in ten minutes.|Weekender bag|Wash bag|Travel tin candle|Thermos flask|Overshirt
Housewarming|Gifts that get used.|Serving bowl|Nesting bowls|Beeswax pillar|Water carafe|Market tote
Our favorites|What the team takes home.|Harbor mug|Reading lamp|Herringbone throw|Linen shirt|Field notebook
""".strip()


# Custom collections: title, description, and the titles of the products in order.
CUSTOM = tuple(
    (title, text, members) for title, text, *members in (row.split("|") for row in _CUSTOM_ROWS.splitlines())
)
FRONTPAGE = (
    "Harbor mug",
    "Weekender bag",
    "Lambswool throw",
    "Desk lamp No. 3",
    "Cedar candle",
    "Linen shirt",
    "Ledger",
)

# Smart collections: title, sort order, ``disjunctive``, and the rules.
SMART = (
    ("Under 25", "price-asc", False, (("variant_price", "less_than", "25"),)),
    ("Ceramics", "alpha-asc", True, (("type", "equals", "Mugs"), ("type", "equals", "Bowls"))),
    ("On sale", "price-desc", False, (("variant_compare_at_price", "greater_than", "0"),)),
    ("From Northbound Supply", "created-desc", False, (("vendor", "equals", "Northbound Supply"),)),
    ("For the road", "best-selling", False, (("tag", "equals", "travel"), ("variant_inventory", "greater_than", "0"))),
)
