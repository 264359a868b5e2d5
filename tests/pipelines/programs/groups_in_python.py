"""Python over groups and tables, and what was collected before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from tests.pipelines.aggregates import agg, count, high, low
from tests.pipelines.kit import Frame, Row, Tables
from tests.pipelines.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def largest_per_group_in_pandas(spark: SparkSession, folder: str) -> DataFrame:
    orders = (
        spark.read.parquet(f"{folder}/orders.parquet")
        .where("amount IS NOT NULL")
        .select("customer_id", "order_id", "amount")
    )

    def largest(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.sort_values(["amount", "order_id"], ascending=False).head(1)

    return orders.groupBy("customer_id").applyInPandas(largest, orders.schema)


def largest_per_group_in_pandas_truth(t: Tables) -> Frame:
    def largest(group: Sequence[Row]) -> list[Any]:
        best = max(group, key=lambda r: (r.amount, r.order_id))
        return [(best.customer_id, best.order_id, best.amount)]

    priced = t("orders").where(lambda r: r.amount is not None)
    return priced.apply("customer_id", "customer_id order_id amount", largest)


def cogrouped_in_pandas(spark: SparkSession, folder: str) -> DataFrame:
    sold = (
        spark.read.parquet(f"{folder}/items.parquet").where("sku IS NOT NULL").select("sku", "qty")
    )
    priced = spark.read.parquet(f"{folder}/prices.parquet")

    def both(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        sku = (left if len(left) else right)["sku"].iloc[0]
        return pd.DataFrame({"sku": [sku], "sold": [len(left)], "prices": [len(right)]})

    return (
        sold.groupBy("sku")
        .cogroup(priced.groupBy("sku"))
        .applyInPandas(both, "sku string, sold long, prices long")
    )


def cogrouped_in_pandas_truth(t: Tables) -> Frame:
    sold = t("items").where(lambda r: r.sku is not None).group("sku", sold=agg(len))
    priced = t("prices").group("sku", prices=agg(len)).rename(sku="b")
    both = sold.join(priced, lambda a, b: a.sku == b.b, "full")
    return both.pick(sku=lambda r: r.sku or r.b, sold=lambda r: r.sold or 0,
                     prices=lambda r: r.prices or 0)  # fmt: skip


def words_by_table_function(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql.functions import udtf

    class Words:
        def eval(self, text: str | None) -> Iterator[tuple[str, int]]:
            for word in (text or "").split():
                yield word, len(word)

    spark.udtf.register("words", udtf(Words, returnType="word string, size int"))
    spark.read.json(f"{folder}/logs.json").createOrReplaceTempView("logs")
    return spark.sql("SELECT id, word FROM logs, LATERAL words(message) WHERE size > 4")


def words_by_table_function_truth(t: Tables) -> Frame:
    logs = t("logs").add(words=lambda r: (r.message or "").split()).explode("words", "word")
    return logs.where(lambda r: len(r.word) > 4).select("id word")


def described_columns(spark: SparkSession, folder: str) -> DataFrame:
    return (
        spark.read.parquet(f"{folder}/employees.parquet")
        .select("salary")
        .summary("count", "min", "max")
    )


def described_columns_truth(t: Tables) -> Frame:
    one = t("employees").group("", n=count("salary"), low=low("salary"), high=high("salary"))
    return one.expand(
        "summary salary",
        lambda r: [("count", str(r.n)), ("min", str(r.low)), ("max", str(r.high))],
    ).select("summary salary")


def mapped_after_collect(spark: SparkSession, folder: str) -> DataFrame:
    """A dictionary that was collected from one table and mapped over another."""
    from itertools import chain

    from pyspark.sql import functions as F

    products = spark.read.parquet(f"{folder}/products.parquet")
    titles = {row["sku"]: row["title"] for row in products.collect()}
    mapping = F.create_map([F.lit(x) for x in chain(*titles.items())])
    items = spark.read.parquet(f"{folder}/items.parquet")
    return items.withColumn("title", mapping[F.col("sku")]).groupBy("title").count()


def mapped_after_collect_truth(t: Tables) -> Frame:
    _, rows_ = t.tables["products"]
    titles = {row[0]: row[1] for row in rows_}
    return t("items").add(title=lambda r: titles.get(r.sku)).group("title", n=count())


PROGRAMS = (
    Program(largest_per_group_in_pandas, largest_per_group_in_pandas_truth),
    Program(cogrouped_in_pandas, cogrouped_in_pandas_truth),
    Program(words_by_table_function, words_by_table_function_truth),
    Program(described_columns, described_columns_truth),
    Program(mapped_after_collect, mapped_after_collect_truth),
)
