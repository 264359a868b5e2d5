"""A hundred functions as people write them in UDFs, by the types of their parameters.

`s` is a text, `n` a whole number, `x` a floating-point number, `d` a date, `b` a truth value.
"""

# ruff: noqa: RET505, E711, PLR, FURB, C4, RUF, UP
# mypy: ignore-errors

import datetime
import math
import re

STATES = {"CA": "California", "NY": "New York", "TX": "Texas"}
LEVELS = {1: "low", 2: "mid", 3: "high"}
BAD = ("n/a", "none", "null", "")
STOP = {"the", "a", "an"}
RATE = 0.19
NOTHING = type(None)
LIMIT = 100
DIGITS = re.compile(r"\d+")
EMAIL = re.compile(r"^[\w.+-]+@([\w-]+\.[\w.]+)$", re.IGNORECASE)
HOLIDAYS = [datetime.date(2024, 1, 1), datetime.date(2024, 12, 25)]


def clean_s(s):
    return s.strip().lower() if s else None


def clean_or_empty_s(s):
    if s is None:
        return ""
    return s.strip()


def upper_first_s(s):
    if not s:
        return s
    return s[0].upper() + s[1:]


def initial_s(s):
    return s[0] if s else "?"


def last_four_s(s):
    if s is None or len(s) < 4:
        return None
    return "*" * 4 + s[-4:]


def title_s(s):
    try:
        return s.title()
    except AttributeError:
        return None


def parse_int_s(s):
    try:
        return int(s)
    except (ValueError, TypeError):
        return None


def parse_int_or_zero_s(s):
    try:
        value = int(s)
    except:  # noqa: E722
        value = 0
    return value


def parse_float_s(s):
    try:
        return float(s.replace(",", "."))
    except Exception:
        return None


def money_s(s):
    if not s:
        return 0.0
    text = s.replace("$", "").replace(",", "").strip()
    try:
        return float(text)
    except ValueError:
        return -1.0


def is_email_s(s):
    return bool(s) and "@" in s and not s.startswith("@")


def domain_s(s):
    if s is None or "@" not in s:
        return None
    return s.split("@")[1].lower()


def email_domain_s(s):
    m = EMAIL.match(s or "")
    if m:
        return m.group(1)
    return None


def digits_only_s(s):
    return re.sub(r"\D", "", s) if s is not None else None


def has_digits_s(s):
    return s is not None and DIGITS.search(s) is not None


def first_number_s(s):
    m = re.search(r"-?\d+", s) if s else None
    return int(m.group(0)) if m else 0


def state_s(s):
    return STATES.get(s, "unknown")


def state_strict_s(s):
    if s in STATES:
        return STATES[s]
    return None


def state_try_s(s):
    try:
        return STATES[s.upper()]
    except (KeyError, AttributeError):
        return "??"


def is_missing_s(s):
    return s is None or s.strip().lower() in BAD


def null_if_missing_s(s):
    if s is None or s.strip().lower() in BAD:
        return None
    return s


def category_s(s):
    if s is None:
        return "none"
    s = s.lower()
    if s.startswith("a"):
        return "first"
    elif s.startswith(("b", "c")):
        return "second"
    elif s.endswith("z") or "y" in s:
        return "last"
    else:
        return "other"


def keyword_s(s):
    for word in ("urgent", "asap", "now"):
        if s and word in s.lower():
            return word
    return None


def any_keyword_s(s):
    return s is not None and any(word in s for word in ("x", "y", "z"))


def all_keywords_s(s):
    return s is not None and all(letter in s for letter in "ab")


def stop_word_s(s):
    return s.lower() in STOP if s else False


def squeeze_s(s):
    return " ".join(s.split()) if s else s


def first_word_s(s):
    if s and s.strip():
        return s.split()[0]
    return ""


def mask_s(s):
    if s is None:
        return None
    return s[:2] + "***"


def middle_s(s):
    return s[1:3] if s else None


def pad_s(s):
    return s.zfill(6) if s is not None else "000000"


def padded_right_s(s):
    return (s or "").ljust(5, ".")


def greeting_s(s):
    return f"Hello, {s}!"


def length_s(s):
    return len(s) if s is not None else -1


def is_palindrome_s(s):
    return s is not None and s == s[::-1]


def is_number_s(s):
    return s is not None and s.isdigit()


def bool_s(s):
    if s is None:
        return None
    return s.strip().lower() in ("true", "yes", "1", "y")


def without_prefix_s(s):
    return s.removeprefix("ID-") if s else s


def compare_s(s):
    return s == "a" or s == "b" or s is None


def not_a_s(s):
    return s != "a"


def between_s(s):
    return s is not None and "a" <= s < "m"


def count_a_s(s):
    return s.count("a") if s else 0


def position_s(s):
    return s.find("b") if s else -1


def swap_s(s):
    return s.swapcase() if s else s


def branchy_s(s):
    out = "start"
    if s is None:
        out = "none"
    else:
        if len(s) > 3:
            out = "long"
        if s.isupper():
            out = out + "-upper"
    return out


def helper_s(s):
    return clean_s(s) or "nothing"


def chained_helper_s(s):
    return greeting_s(helper_s(s))


def loop_flags_s(s):
    n = 0
    for letter in "abc":
        if s is not None and letter in s:
            n += 1
    return n


def loop_break_s(s):
    found = "-"
    for key in ["x", "a", "b"]:
        if s and s.startswith(key):
            found = key
            break
    return found


def reversed_s(s):
    return s[::-1] if s else s


def char_code_s(s):
    return ord(s[0]) if s else None


def vowels_s(s):
    return sum(1 for c in s if c in "aeiou") if s else 0


def none_equal_s(s):
    return s == None


def year_text_s(s):
    if s and len(s) >= 4 and s[:4].isdigit():
        return int(s[:4])
    return None


def phone_s(s):
    if s is None:
        return None
    t = s.replace("-", "").replace(" ", "")
    if len(t) == 10:
        return "+1" + t
    if t.startswith("1") and len(t) == 11:
        return "+" + t
    return t


def raise_try_s(s):
    try:
        if s is None:
            raise ValueError("missing")
        return s.upper()
    except ValueError:
        return "MISSING"


def plus_one_n(n):
    return n + 1 if n is not None else None


def add_none_n(n):
    if n is None:
        n = 0
    return n * 2


def sign_n(n):
    if n is None:
        return None
    if n > 0:
        return 1
    elif n < 0:
        return -1
    return 0


def bucket_n(n):
    if n is None:
        return "none"
    if n < 0:
        return "negative"
    if n < 10:
        return "small"
    if 10 <= n < LIMIT:
        return "medium"
    return "large"


def even_n(n):
    return n is not None and n % 2 == 0


def mod_n(n):
    return n % 7 if n is not None else None


def floor_div_n(n):
    return n // 10 if n is not None else None


def decade_n(n):
    return None if n is None else n - n % 10


def half_n(n):
    return n / 2 if n is not None else None


def inverse_n(n):
    try:
        return 1 / n
    except ZeroDivisionError:
        return None
    except TypeError:
        return None


def inverse_any_n(n):
    try:
        return 100 / n
    except Exception:
        return 0.0


def level_n(n):
    return LEVELS.get(n)


def level_default_n(n):
    return LEVELS.get(n, "other").upper()


def truthy_n(n):
    return "yes" if n else "no"


def not_n(n):
    return not n


def or_default_n(n):
    return n or 5


def absolute_n(n):
    return abs(n) if n is not None else 0


def clamp_n(n):
    return max(0, min(n, 100)) if n is not None else None


def square_n(n):
    return n**2 if n is not None else None


def text_n(n):
    return str(n)


def label_n(n):
    return f"id-{n}" if n is not None else "id-none"


def zip_n(n):
    return str(n).zfill(5) if n is not None else None


def in_list_n(n):
    return n in [1, 2, 3]


def not_in_n(n):
    return n not in (5, 7)


def fizz_n(n):
    if n is None:
        return ""
    if n % 15 == 0:
        return "fizzbuzz"
    if n % 3 == 0:
        return "fizz"
    if n % 5 == 0:
        return "buzz"
    return str(n)


def overflow_n(n):
    return n is not None and n * n * n > 10**30


def grade_n(n):
    for bound, grade in ((90, "A"), (80, "B"), (70, "C")):
        if n is not None and n >= bound:
            return grade
    return "F"


def collatz_n(n):
    steps = 0
    while n is not None and 1 < n < 50:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def gross_x(x):
    return x * (1 + RATE) if x is not None else None


def is_nan_x(x):
    return x is None or x != x


def fill_nan_x(x):
    if x is None or math.isnan(x):
        return 0.0
    return x


def rounded_x(x):
    return round(x, 1) if x is not None else None


def positive_x(x):
    return x is not None and x > 0


def zero_x(x):
    return x == 0.0


def truthy_x(x):
    return 1 if x else 0


def root_x(x):
    return math.sqrt(x) if x is not None and x >= 0 else None


def safe_int_x(x):
    try:
        return int(x)
    except (ValueError, TypeError, OverflowError):
        return None


def percent_x(x):
    return 100.0 * x if x else 0.0


def text_x(x):
    return str(x)


def bounded_x(x):
    return min(x, 1.0) if x is not None else None


def year_d(d):
    return d.year if d is not None else None


def quarter_d(d):
    return (d.month - 1) // 3 + 1 if d else None


def weekend_d(d):
    return d is not None and d.weekday() >= 5


def iso_d(d):
    return d.isoformat() if d else ""


def month_text_d(d):
    return d.strftime("%Y-%m") if d else None


def holiday_d(d):
    return d in HOLIDAYS


def season_d(d):
    if d is None:
        return None
    m = d.month
    if m in (12, 1, 2):
        return "winter"
    return "summer" if 6 <= m <= 8 else "between"


def after_d(d):
    return d is not None and d > datetime.date(2020, 1, 1)


def flag_b(b):
    return "Y" if b else "N"


def both_b(b):
    return b is True


def three_b(b):
    if b is None:
        return "unknown"
    return str(b)


def next_shown_n(n):
    try:
        return str(n + 1)[0:3]
    except TypeError:
        return "bad"


def next_labelled_n(n):
    try:
        return f"{n + 1}-z"
    except TypeError:
        return "?"


def sixth_is_early_s(s):
    try:
        return str(s[5]) < "z"
    except (IndexError, TypeError):
        return None


def above_three_n(n):
    try:
        return (n if n > 3 else 0) + 1
    except TypeError:
        return -1


def is_missing_n(n):
    return isinstance(n, NOTHING)


def is_text_or_missing_s(s):
    return isinstance(s, (str, NOTHING))


upper_lambda_s = lambda s: s.upper() if s else ""  # noqa: E731
plus_lambda_n, minus_lambda_n = (lambda n: (n or 0) + 1), (lambda n: (n or 0) - 1)
