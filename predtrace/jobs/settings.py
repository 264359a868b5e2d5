"""Spark's settings that change results: read from one session, put in force in another.

They were found by reading which entries of Spark's SQLConf expressions, type rules, decorrelation
and file readers use. A test classifies every entry that the installed Spark registers: it is listed
here, or the test says why no result depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from predtrace.errors import EngineError
from predtrace.jobs.model import EngineSettings

TIME_ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
CASE_SENSITIVE = "spark.sql.caseSensitive"
PREFIX = "spark.sql."
EXCLUDED_RULES = f"{PREFIX}optimizer.excludedRules"
TIME_PARSER = f"{PREFIX}legacy.timeParserPolicy"
THREE_VALUED = f"{PREFIX}legacy.followThreeValuedLogicInArrayExists"


def _keys(*names: str) -> tuple[str, ...]:
    return tuple(f"{PREFIX}{name}" for name in names)


_TYPES = _keys(
    "binaryOutputStyle", "charAsVarchar", "decimalOperations.allowPrecisionLoss",
    "function.concatBinaryAsString", "function.eltOutputAsString", "geospatial.enabled",
    "legacy.allowNegativeScaleOfDecimal", "legacy.charVarcharAsString",
    "legacy.createEmptyCollectionUsingStringType",
    "legacy.decimal.retainFractionDigitsOnTruncate", "legacy.integerGroupingId",
    "legacy.groupingIdWithAppendedUserGroupBy",
    "legacy.histogramNumericPropagateInputType", "legacy.interval.enabled",
    "legacy.literal.pickMinimumPrecision", "legacy.lpadRpadAlwaysReturnString",
    "legacy.noCharPaddingInPredicate", "legacy.typeCoercion.datetimeToString.enabled",
    "preserveCharVarcharTypeInfo", "readSideCharPadding", "timeType.enabled",
    "timestampNanosTypes.enabled", "timestampType",
)  # fmt: skip
"""Settings that change the type of an expression or a column."""

_VALUES = _keys(
    "alwaysInlineCommonExpr", "chunkBase64String.enabled", "collation.allowInMapKeys",
    "icu.caseMappings.enabled", "jsonGenerator.ignoreNullFields",
    "legacy.allowHashOnMapType", "legacy.allowNullComparisonResultInArraySort",
    "legacy.allowZeroIndexInFormatString", "legacy.castComplexTypesToString.enabled",
    "legacy.codingErrorAction", "legacy.collationAwareHashFunctions",
    "legacy.disableMapKeyNormalization", "legacy.followThreeValuedLogicInArrayExists",
    "legacy.fromDayTimeString.enabled", "legacy.inSubqueryNullability", "legacy.javaCharsets",
    "legacy.negativeIndexInArrayInsert", "legacy.nullInEmptyListBehavior",
    "legacy.percentileDiscCalculation", "legacy.raiseErrorWithoutErrorClass",
    "legacy.sizeOfNull", "legacy.statisticalAggregate", "legacy.timeParserPolicy",
    "legacy.truncateForEmptyRegexSplit", "listagg.allowDistinctCastWithOrder.enabled",
    "mapKeyDedupPolicy", "mapZipWithUsesJavaCollections", "variant.allowDuplicateKeys",
    "variant.validateUnicodeInJsonParsing",
)  # fmt: skip
"""Settings that change the value of an expression."""

_OPERATORS = _keys(
    "cteRecursionLevelLimit", "cteRecursionRowLimit",
    "legacy.scalarSubqueryCountBugBehavior",
    "optimizer.decorrelateExistsSubqueryLegacyIncorrectCountHandling.enabled",
    "optimizer.decorrelateLimitOffsetLegacyIncorrectOrderHandling.enabled",
    "optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled",
    "optimizer.decorrelateSubqueryPreventConstantHoldingForCountBug.enabled",
    "optimizer.enableCsvExpressionOptimization", "optimizer.enableJsonExpressionOptimization",
    "optimizer.metadataOnly", "optimizer.optimizeUncorrelatedInSubqueriesInJoinCondition.enabled",
    "orderingAwareLimitOffset",
)  # fmt: skip
"""Settings that change the rows of an operator."""

_FILES = _keys(
    "files.archive.reader.enabled", "files.ignoreCorruptFiles",
    "files.ignoreInvalidPartitionPaths", "files.ignoreMissingFiles",
    "files.ignoredPathSegmentRegex", "files.supportSecondOffsetFormat",
    "sources.partitionColumnTypeInference.enabled", "sources.useV1SourceList",
    "sources.validatePartitionColumns", "columnNameOfCorruptRecord", "defaultColumn.enabled",
    "defaultColumn.allowedProviders", "execution.datasources.hadoopLineRecordReader.enabled",
    "avro.datetimeRebaseModeInRead", "csv.parser.columnPruning.enabled",
    "csv.parser.inputBufferSize", "json.enableExactStringParsing", "json.enablePartialResults",
    "legacy.csv.enableDateTimeParsingFallback",
    "legacy.json.allowEmptyString.enabled", "legacy.json.enableDateTimeParsingFallback",
    "legacy.parquet.nanosAsLong", "legacy.parquet.returnNullStructIfAllFieldsMissing",
    "legacy.useLegacyXMLParser", "orc.impl", "orc.mergeSchema", "parquet.binaryAsString",
    "parquet.datetimeRebaseModeInRead", "parquet.fieldId.read.enabled",
    "parquet.fieldId.read.ignoreMissing", "parquet.ignoreVariantAnnotation",
    "parquet.inferTimestampNTZ.enabled", "parquet.int96AsTimestamp",
    "parquet.int96RebaseModeInRead", "parquet.int96TimestampConversion", "parquet.mergeSchema",
    "parquet.reader.respectUnknownTypeAnnotation.enabled", "variant.allowReadingShredded",
    "xml.variant.respectInferSchema",
)  # fmt: skip
"""Settings that change the rows and values of a file."""

_PYTHON = _keys(
    "execution.arrow.useLargeVarTypes", "execution.pandas.convertToArrowArraySafely",
    "execution.pyspark.binaryAsBytes", "execution.pythonUDF.arrow.enabled",
    "execution.pythonUDF.arrow.legacy.fallbackOnUDT",
    "execution.pythonUDF.pandas.intToDecimalCoercionEnabled",
    "execution.pythonUDF.pandas.preferIntExtensionDtype", "execution.pythonUDTF.arrow.enabled",
    "experimental.optimizer.pyTranspilers", "experimental.optimizer.transpilePyUDFs",
    "legacy.execution.pandas.groupedMap.assignColumnsByName",
    "legacy.execution.pythonUDF.pandas.conversion.enabled",
    "legacy.execution.pythonUDTF.pandas.conversion.enabled",
)  # fmt: skip
"""Settings that change the arguments of Python functions, and how their results are converted."""

SAVED: tuple[str, ...] = (*_TYPES, *_VALUES, *_OPERATORS, *_FILES, *_PYTHON)
"""Settings on which results depend, other than time zone, ANSI mode and case sensitivity."""

STATEMENTS: tuple[str, ...] = _keys(
    "allowNamedFunctionArguments", "analyzer.", "ansi.doubleQuotedIdentifiers",
    "ansi.enforceReservedKeywords", "ansi.relationPrecedence",
    "functionResolution.", "groupByAliases", "groupByOrdinal", "lateralColumnAlias.",
    "legacy.allowStarWithSingleTableIdentifierInCount", "legacy.bangEqualsNot",
    "legacy.consecutiveStringLiterals.enabled", "legacy.ctePrecedencePolicy",
    "legacy.duplicateBetweenInput", "legacy.exponentLiteralAsDecimal.enabled",
    "legacy.parameterSubstitution.", "legacy.parser.", "legacy.parseQueryWithoutEof",
    "legacy.persistentCatalogFirst", "legacy.setopsPrecedence.enabled",
    "operatorPipeSyntaxEnabled", "orderByOrdinal", "parser.", "pivotMaxValues",
    "prioritizeOrdinalResolutionInSort.", "runSQLOnFiles", "stableDerivedColumnAlias.",
)  # fmt: skip
"""Names, or prefixes of names, of settings that change how the text of a query is read.

The job has the plan that its text was parsed to. Our own statements are written for the defaults.
"""


def read_settings(conf: Any, version: str) -> EngineSettings:
    """The settings in force in a session, by its `conf`."""
    return EngineSettings(
        engine_version=version,
        time_zone=str(conf.get(TIME_ZONE)),
        ansi=conf.get(ANSI) == "true",
        case_sensitive=conf.get(CASE_SENSITIVE) == "true",
        conf={key: _value(conf, key) for key in SAVED},
    )


def _value(conf: Any, key: str) -> str | None:
    """The value of a setting; None if it has none, or if this version of Spark lacks it."""
    from pyspark.errors import PySparkException

    try:
        found: str | None = conf.get(key)
    except PySparkException:
        return None
    return found


def put_in_force(conf: Any, settings: EngineSettings) -> None:
    """Give a session the recorded settings of the job, and leave all others unchanged.

    `conf` is the session's, in Python or in the JVM. A setting that has its recorded value is not
    set: Spark warns of each deprecated one that is. Raises EngineError for a value that this
    version of Spark does not take.
    """
    left = dict(by_name(settings))
    # Again until nothing differs: a setting may take its value from one that was set after it.
    while differing := [key for key, value in left.items() if _value(conf, key) != value]:
        for key in differing:
            _put(conf, key, left.pop(key), settings.engine_version)


def _put(conf: Any, key: str, value: str | None, version: str) -> None:
    from pyspark.errors import PySparkException

    try:
        if value is None:
            conf.unset(key)
        else:
            conf.set(key, value)
    except PySparkException as error:
        raise EngineError(
            f"the job ran with {key}={value}, which this Spark does not accept; ask in "
            f"Spark {version}"
        ) from error


def by_name(settings: EngineSettings) -> Mapping[str, str | None]:
    """All settings of a job, by Spark's names."""
    return {
        **settings.conf,
        TIME_ZONE: settings.time_zone,
        ANSI: str(settings.ansi).lower(),
        CASE_SENSITIVE: str(settings.case_sensitive).lower(),
    }


def belongs_to_statements(key: str) -> bool:
    """Whether the setting is one of `STATEMENTS`."""
    return any(key.startswith(name) if name[-1] == "." else key == name for name in STATEMENTS)
