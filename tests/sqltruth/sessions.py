"""A Spark session for many small queries."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG4J = Path(__file__).parents[2] / "predtrace" / "environment" / "log4j2.properties"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    # Every hash table begins with a page, of up to 64 MB otherwise, which is filled with zeros.
    "spark.buffer.pageSize": "1m",
    # Compiling code for a handful of rows costs more than running the query.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": (
        f'"-Dlog4j2.configurationFile={LOG4J}" '
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms2g -Xmn1g"
    ),
}


def start() -> SparkSession:
    """A local session of one thread."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("sqltruth")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
