"""Nested data: arrays, structs, explode and its like, unpivots."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.pipelines.aggregates import agg, count, distinct, ordered
from tests.pipelines.kit import Frame, Row, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import row_number, top, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def tags_exploded(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    products = spark.read.parquet(f"{folder}/products.parquet")
    return products.select("sku", F.explode("tags").alias("tag"))


def tags_exploded_truth(t: Tables) -> Frame:
    return t("products").explode("tags", "tag").select("sku tag")


def tags_counted(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/products.parquet").createOrReplaceTempView("products")
    return spark.sql("""
        SELECT tag, COUNT(DISTINCT sku) AS products FROM products
        LATERAL VIEW explode(tags) x AS tag WHERE tag IS NOT NULL GROUP BY tag
    """)


def tags_counted_truth(t: Tables) -> Frame:
    tags = t("products").explode("tags", "tag").where(lambda r: r.tag is not None)
    return tags.group("tag", products=distinct("sku"))


def tags_outer_with_positions(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    products = spark.read.parquet(f"{folder}/products.parquet")
    return products.select("sku", F.posexplode_outer("tags").alias("place", "tag"))


def tags_outer_with_positions_truth(t: Tables) -> Frame:
    def each(row: Row) -> list[tuple[Any, Any]]:
        return list(enumerate(row.tags or [])) or [(None, None)]

    return t("products").expand("place tag", each).select("sku place tag")


def basket_lists(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    items = spark.read.parquet(f"{folder}/items.parquet").where("sku IS NOT NULL")
    return items.groupBy("order_id").agg(
        F.sort_array(F.collect_list("sku")).alias("skus"), F.size(F.collect_set("sku")).alias("n")
    )


def basket_lists_truth(t: Tables) -> Frame:
    items = t("items").where(lambda r: r.sku is not None)
    return items.group("order_id", skus=ordered("sku"), n=distinct("sku"))


def baskets_with_tags(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    products = spark.read.parquet(f"{folder}/products.parquet")
    return products.where(F.array_contains("tags", "sale") | (F.size("tags") == 0)).select(
        "sku", F.concat_ws(",", F.array_distinct("tags")).alias("tags")
    )


def baskets_with_tags_truth(t: Tables) -> Frame:
    some = t("products").where(lambda r: r.tags is not None and ("sale" in r.tags or not r.tags))
    return some.pick("sku", tags=lambda r: ",".join(dict.fromkeys(v for v in r.tags if v)))


def higher_order_functions(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/products.parquet").createOrReplaceTempView("products")
    return spark.sql("""
        SELECT sku, transform(filter(tags, t -> t IS NOT NULL), t -> upper(t)) AS tags,
               exists(tags, t -> t = 'eco') AS eco
        FROM products WHERE tags IS NOT NULL
    """)


def higher_order_functions_truth(t: Tables) -> Frame:
    some = t("products").where(lambda r: r.tags is not None)

    def eco(r: Row) -> Any:
        return True if "eco" in r.tags else (None if None in r.tags else False)

    return some.pick("sku", tags=lambda r: [v.upper() for v in r.tags if v], eco=eco)


def split_words(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    logs = spark.read.json(f"{folder}/logs.json")
    return (
        logs.select(F.explode(F.split(F.lower("message"), r"\s+")).alias("word"))
        .groupBy("word").count().where("count > 1")
    )  # fmt: skip


def split_words_truth(t: Tables) -> Frame:
    logs = t("logs").add(words=lambda r: null(str.split, r.message))
    return logs.explode("words", "word").group("word", n=count()).where(lambda r: r.n > 1)


def unpivoted_products(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    products = spark.read.parquet(f"{folder}/products.parquet")
    texts = products.select(
        "sku", "title", "category", F.col("price").cast("string").alias("price")
    )
    return texts.unpivot("sku", ["title", "category", "price"], "attribute", "value").where(
        "value IS NOT NULL"
    )


def unpivoted_products_truth(t: Tables) -> Frame:
    def each(row: Row) -> Iterator[tuple[str, Any]]:
        for name in ("title", "category", "price"):
            yield name, null(str, row[name])

    long = t("products").expand("attribute value", each).select("sku attribute value")
    return long.where(lambda r: r.value is not None)


def stacked_measures(spark: SparkSession, folder: str) -> DataFrame:
    return (
        spark.read.parquet(f"{folder}/employees.parquet")
        .selectExpr("id", "stack(2, 'salary', salary, 'manager', manager_id) AS (what, number)")
        .where("number > 4")
    )


def stacked_measures_truth(t: Tables) -> Frame:
    long = t("employees").expand(
        "what number", lambda r: [("salary", r.salary), ("manager", r.manager_id)]
    )
    big = long.where(lambda r: r.number is not None and r.number > 4)
    return big.select("id what number")


def first_tag(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    products = spark.read.parquet(f"{folder}/products.parquet")
    long = products.select("category", "price", F.explode("tags").alias("tag"))
    w = Window.partitionBy("tag").orderBy(F.desc("price"), "category")
    return (
        long.where("tag IS NOT NULL")
        .withColumn("n", F.row_number().over(w))
        .where("n = 1")
        .drop("n")
    )


def first_tag_truth(t: Tables) -> Frame:
    long = t("products").explode("tags", "tag").select("category price tag")
    return top(long.where(lambda r: r.tag is not None), "tag", "-price category")


def structs_in_arrays(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    items = spark.read.parquet(f"{folder}/items.parquet").where("qty IS NOT NULL")
    lines = items.groupBy("order_id").agg(
        F.sort_array(F.collect_list(F.struct("line", "sku", "qty"))).alias("lines")
    )
    return lines.select("order_id", F.inline("lines")).where("qty > 1")


def structs_in_arrays_truth(t: Tables) -> Frame:
    items = t("items").where(lambda r: r.qty is not None)
    pack = agg(lambda rows: sorted([(r.line, r.sku, r.qty) for r in rows], key=lambda r: r[0]))
    lines = items.group("order_id", lines=pack).expand("line sku qty", lambda r: r.lines)
    return lines.where(lambda r: r.qty > 1).select("order_id line sku qty")


def calendar_from_sequence(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/logins.parquet").createOrReplaceTempView("logins")
    return spark.sql("""
        WITH days AS (
          SELECT explode(sequence(DATE '2024-01-01', DATE '2024-01-14')) AS day
        )
        SELECT d.day, COUNT(DISTINCT l.user) AS users
        FROM days d LEFT JOIN logins l ON l.day = d.day GROUP BY d.day
    """)


def calendar_from_sequence_truth(t: Tables) -> Frame:
    start = dt.date(2024, 1, 1)
    calendar = [Row({"day": start + dt.timedelta(days=n)}, frozenset()) for n in range(14)]
    days = Frame(["day"], calendar, t.whole)
    return days.join(t("logins"), "day", "left").group("day", users=distinct("user"))


def numbered_elements(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/products.parquet").createOrReplaceTempView("products")
    return spark.sql("""
        SELECT sku, tag, row_number() OVER (PARTITION BY tag ORDER BY sku) AS n
        FROM products, LATERAL explode(tags) AS x(tag) WHERE sku <> 's3'
    """)


def numbered_elements_truth(t: Tables) -> Frame:
    tags = t("products").explode("tags", "tag").where(lambda r: r.sku != "s3")
    return window(tags, "tag", "sku", n=row_number()).select("sku tag n")


PROGRAMS = (
    Program(tags_exploded, tags_exploded_truth),
    Program(tags_counted, tags_counted_truth),
    Program(tags_outer_with_positions, tags_outer_with_positions_truth),
    Program(basket_lists, basket_lists_truth),
    Program(baskets_with_tags, baskets_with_tags_truth),
    Program(higher_order_functions, higher_order_functions_truth),
    Program(split_words, split_words_truth),
    Program(unpivoted_products, unpivoted_products_truth),
    Program(stacked_measures, stacked_measures_truth),
    Program(first_tag, first_tag_truth),
    Program(structs_in_arrays, structs_in_arrays_truth),
    Program(calendar_from_sequence, calendar_from_sequence_truth),
    Program(numbered_elements, numbered_elements_truth),
)
