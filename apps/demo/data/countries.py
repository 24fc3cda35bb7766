"""Names and addresses for the customers of the demo shop."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoCountry:
    """Names, cities (with province and postal code), and patterns for streets and phones of a country."""

    country_code: str
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    cities: tuple[tuple[str, str, str], ...]
    streets: tuple[str, ...]
    phone: str
    companies: tuple[str, ...]


DEMO_COUNTRIES = (
    DemoCountry(
        "SE",
        ("Anna", "Erik", "Åsa", "Björn", "Maja", "Örjan"),
        ("Lindqvist", "Åkesson", "Nyström", "Sjöberg", "Öberg"),
        (("Lund", "Skåne län", "222 22"), ("Uppsala", "Uppsala län", "753 20"), ("Umeå", "", "903 26")),
        ("Storgatan {}", "Västra Hamngatan {}", "Kyrkogatan {}"),
        "+46 70 174 {:04d}",
        ("Garn & Tråd AB", "Nordljus Form"),
    ),
    DemoCountry(
        "US",
        ("Emily", "Marcus", "Grace", "Tyler", "Naomi", "Diego"),
        ("Carter", "Nguyen", "O'Brien", "Washington", "Delgado"),
        (("Portland", "Oregon", "97205"), ("Austin", "Texas", "78701"), ("Brooklyn", "New York", "11201")),
        ("{} Maple Street", "{} Harbor Avenue", "{} Juniper Lane"),
        "+1 415 555 {:04d}",
        ("Blue Heron Supply", "Carter & Daughters"),
    ),
    DemoCountry(
        "DE",
        ("Jürgen", "Käthe", "Leonie", "Sören", "Ümit", "Friederike"),
        ("Müller", "Groß", "Schäfer", "Yılmaz", "von der Heide"),
        (("Köln", "Nordrhein-Westfalen", "50667"), ("München", "Bayern", "80331"), ("Leipzig", "Sachsen", "04109")),
        ("Große Straße {}", "Lindenallee {}", "Am Markt {}"),
        "+49 171 3920{:04d}",
        ("Wollwerk GmbH", "Kontor Elbe"),
    ),
    DemoCountry(
        "JP",
        ("陽菜", "健太", "さくら", "大輔", "美咲", "ケンジ"),
        ("佐藤", "鈴木", "高橋", "田中", "渡辺"),
        (("渋谷区", "Tokyo", "150-0002"), ("京都市", "Kyoto", "604-8005"), ("札幌市", "Hokkaido", "060-0001")),
        ("神南{}丁目", "四条通{}", "大通西{}"),
        "+81 90 1790 {:04d}",
        ("株式会社つむぎ", "青空商店"),
    ),
    DemoCountry(
        "GR",
        ("Ελένη", "Γιώργος", "Σοφία", "Νίκος"),
        ("Παπαδόπουλος", "Οικονόμου", "Νικολάου", "Γεωργίου"),
        (("Αθήνα", "Attiki", "105 57"), ("Θεσσαλονίκη", "Kentriki Makedonia", "546 24")),
        ("Ερμού {}", "Πατησίων {}"),
        "+30 690 000 {:04d}",
        ("Νήμα Ο.Ε.", "Αιγαίο Εμπορική"),
    ),
    DemoCountry(
        "EG",
        ("ليلى", "أحمد", "نور", "يوسف"),
        ("حسن", "المصري", "عبد الله", "فؤاد"),
        (("القاهرة", "Al Qahirah", "11511"), ("الإسكندرية", "Al Iskandariyah", "21511")),
        ("شارع النيل {}", "شارع التحرير {}"),
        "+20 100 192 {:04d}",
        ("دار النسيج", "مكتبة النهر"),
    ),
    DemoCountry(
        "BR",
        ("João", "Luísa", "Thiago", "Conceição", "Inês"),
        ("da Silva", "Gonçalves", "Araújo", "Magalhães"),
        (("São Paulo", "São Paulo", "01310-100"), ("Salvador", "Bahia", "40020-000")),
        ("Rua das Flores, {}", "Avenida Paulista, {}"),
        "+55 11 91730 {:04d}",
        ("Fio & Cor Ltda.", "Casa Araújo"),
    ),
    DemoCountry(
        "UA",
        ("Оксана", "Тарас", "Ірина", "Богдан"),
        ("Шевченко", "Коваленко", "Бондаренко", "Їжакевич"),
        (("Київ", "Kyiv", "01001"), ("Львів", "Lvivska oblast", "79000")),
        ("вулиця Хрещатик, {}", "площа Ринок, {}"),
        "+380 50 190 {:04d}",
        ("Нитка", "Карпатський двір"),
    ),
    DemoCountry(
        "IN",
        ("आरव", "Priya", "अनन्या", "Rohan", "कबीर"),
        ("शर्मा", "Iyer", "वर्मा", "Mukherjee"),
        (("Mumbai", "Maharashtra", "400001"), ("Bengaluru", "Karnataka", "560001"), ("दिल्ली", "Delhi", "110001")),
        ("{} MG Road", "{} गांधी मार्ग"),
        "+91 98190 0{:04d}",
        ("Chakra Textiles", "सूत घर"),
    ),
    DemoCountry(
        "GB",
        ("Siân", "Alasdair", "Imogen", "Callum", "Zoë"),
        ("Smith-Jones", "MacLeod", "Okafor", "Llewellyn"),
        (("London", "", "SE1 9GF"), ("Glasgow", "", "G1 1XQ"), ("Cardiff", "", "CF10 1EP")),
        ("{} Orchard Road", "Flat 2, {} Mill Lane"),
        "+44 20 7946 {:04d}",
        ("Llewellyn & Sons", "North Sea Trading"),
    ),
    DemoCountry(
        "CA",
        ("Geneviève", "Étienne", "Sophie", "Noah"),
        ("Tremblay", "Bélanger", "Singh", "Roy"),
        (("Montréal", "Quebec", "H2Y 1C6"), ("Vancouver", "British Columbia", "V6B 1A1")),
        ("{} rue Saint-Paul", "{} Granville Street"),
        "+1 604 555 {:04d}",
        ("Atelier du Nord", "Pacific Wool Co."),
    ),
    DemoCountry(
        "IL",
        ("נועה", "איתן", "תמר", "יונתן"),
        ("כהן", "לוי", "מזרחי", "פרידמן"),
        (("תל אביב", "Tel-Aviv", "6100000"), ("חיפה", "Haifa", "3100000")),
        ("רחוב הרצל {}", "שדרות רוטשילד {}"),
        "+972 50 190 {:04d}",
        ("חוט ומחט", "בית הצמר"),
    ),
)
