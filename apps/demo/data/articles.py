"""The texts of the ten demo articles."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoArticle:
    """A demo article. ``days_ago`` is negative for a scheduled article, and None for a hidden article."""

    title: str
    author: str
    tags: str
    summary_html: str
    body_html: str
    days_ago: int | None
    image_alt: str = ""


ARTICLES = (
    DemoArticle(
        "How to read a yarn label",
        "Mara Lindqvist",
        "beginners, yarn",
        "<p>Weight, yardage, gauge, lot: four numbers that decide whether a jumper fits.</p>",
        "<p>A label holds four numbers, and each of them saves you from a particular sorrow.</p>"
        "<ul><li><strong>Weight</strong> says how thick the yarn is.</li>"
        "<li><strong>Yardage</strong> says how far the ball goes.</li>"
        "<li><strong>Gauge</strong> says how many stitches make ten centimetres.</li>"
        "<li><strong>Lot</strong> says what was dyed together. Buy enough of one lot.</li></ul>",
        120,
        "Stripes of brown and cream wool",
    ),
    DemoArticle(
        "A visit to the mill at Strandby",
        "Jonas Field",
        "mills, wool",
        "<p>Two carding machines, one river, and five people who know every bolt.</p>",
        "<p>The mill has stood by the river since 1881. Its carding machines are older than anyone who runs them.</p>"
        "<p>Wool comes in smelling of sheep and leaves as <em>roving</em>, soft as smoke. We watched for a day, "
        "and brought home the first two hundred skeins of the autumn.</p><blockquote>We do not hurry. The fibre "
        "knows.</blockquote>",
        101,
        "Stripes of blue-green and rust wool",
    ),
    DemoArticle(
        "Washing wool without fear",
        "Mara Lindqvist",
        "care, wool",
        "<p>Cool water, no wringing, a towel, patience.</p>",
        "<ol><li>Fill a basin with cool water and a little wool wash.</li><li>Lay the piece in; do not rub.</li>"
        "<li>After twenty minutes press the water out.</li><li>Roll it in a towel and stand on the towel.</li>"
        "<li>Dry it flat, away from the sun.</li></ol>",
        88,
    ),
    DemoArticle(
        "Natural dyes: madder, weld and indigo",
        "Aiko Brandt",
        "dyeing, wool",
        "<p>Three plants that gave Europe its reds, yellows and blues.</p>",
        "<p>Madder gives every red from brick to coral, depending on the water. Weld gives a clear yellow. Indigo "
        "is stranger: the yarn leaves the vat <em>green</em> and turns blue in the air while you watch.</p>"
        "<table><thead><tr><th>Plant</th><th>Part</th><th>Color</th></tr></thead><tbody>"
        "<tr><td>Madder</td><td>root</td><td>red</td></tr><tr><td>Weld</td><td>leaf</td><td>yellow</td></tr>"
        "<tr><td>Indigo</td><td>leaf</td><td>blue</td></tr></tbody></table>",
        71,
        "Stripes of plum and rose wool",
    ),
    DemoArticle(
        "The shop's first fair",
        "Jonas Field",
        "news",
        "<p>We are at the harbour market in September. Come and touch things.</p>",
        "<p>We bring forty colors, the swift, and coffee. On Saturday at eleven Aiko shows how to wind a center-pull "
        "ball without tears.</p>",
        55,
    ),
    DemoArticle(
        "A hat in an evening",
        "Aiko Brandt",
        "beginners, patterns",
        "<p>One skein, one circular needle, one film.</p>",
        "<p>Cast on 88 stitches and join. Knit two, purl two for six centimetres, then knit until the hat is "
        "nineteen centimetres tall.</p><h2>Crown</h2><p>Knit nine, knit two together; repeat. Next round plain. Then "
        "eight and two, and so on until eleven stitches are left. Draw the yarn through them.</p>",
        41,
        "Stripes of brown, cream and green wool",
    ),
    DemoArticle(
        "Why our cotton comes from one farm",
        "Mara Lindqvist",
        "cotton, mills",
        "<p>Knowing the farmer's name is cheaper than a certificate, and tells more.</p>",
        "<p>Our cotton grows on ninety hectares, is watered by rain, and is spun forty kilometres away. When the "
        "harvest is short, there is less of it. We tell you so instead of mixing.</p>",
        30,
    ),
    DemoArticle(
        "Mending as a winter sport",
        "Jonas Field",
        "care, patterns",
        "<p>Duplicate stitch, woven darn, and when to give up.</p>",
        "<p>A hole at the elbow is an invitation. The <strong>duplicate stitch</strong> follows the path of the old "
        "yarn and hides; the <strong>woven darn</strong> does not hide and need not.</p><p>Give up when there is more "
        "darn than sleeve. Then it is a cushion.</p>",
        12,
        "Stripes of rust, cream and slate wool",
    ),
    DemoArticle(
        "Opening hours around the holidays",
        "Mara Lindqvist",
        "news",
        "<p>When we pack parcels, and when we sleep.</p>",
        "<p>Parcels leave on every weekday until the 22nd. From the 23rd on we knit.</p>",
        -14,
    ),
    DemoArticle(
        "Notes for the spring range",
        "Aiko Brandt",
        "news, yarn",
        "<p>Not for publication yet.</p>",
        "<p>Linen blend in six colors. Ask the mill for samples of the two greens; the second looked gray in the "
        "evening.</p>",
        None,
    ),
)
