"""Records of jobs from elsewhere: refused with one line, and nothing is read or written outside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from predtrace.cli.app import app
from predtrace.errors import JobFormatError, PredTraceError, StoreError, UnsupportedOperatorError
from predtrace.jobs.codec import decode_job
from predtrace.jobs.formats import OPTIONS, refusal
from predtrace.report.folders import folder_names
from tests.trust.hostile import changed, sealed, unsealed, uses
from tests.trust.jobs import ROWS_OF_TARGET, TARGET, make_store, opened, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = 40
Store = tuple[Path, str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def copy(store: Store, tmp_path: Path) -> Store:
    """The store, to be spoilt."""
    shutil.copytree(store[0], tmp_path / "store")
    return tmp_path / "store", store[1]


def body_of(store: Store) -> Any:
    return unsealed((store[0] / store[1] / "job.json").read_bytes())


def save(store: Store, body: Any) -> None:
    (store[0] / store[1] / "job.json").write_bytes(sealed(body))


def entries(folder: Path, but: Path) -> set[Path]:
    """Everything in a folder, but for what lies under one of its folders."""
    return {path for path in folder.rglob("*") if path != but and but not in path.parents}


def test_a_changed_record_is_refused_or_used_and_nothing_else(copy: Store) -> None:
    """Any error is ours, and nothing appears, or goes, outside of the job's folder."""
    job = copy[0] / copy[1]
    outside = entries(copy[0].parent, job)
    kept = copy[0].parent / "kept"
    shutil.copytree(job, kept)
    good = body_of(copy)
    refused = used = 0
    for seed in range(SEEDS):
        save(copy, changed(good, seed))
        data = (job / "job.json").read_bytes()
        for name, use in uses(TARGET).items():
            (job / "job.json").write_bytes(data)
            try:
                use(opened(copy), kept)
                used += 1
            except PredTraceError as error:
                refused += 1
                if isinstance(error, JobFormatError) and "valid job" in str(error):
                    break
            if name in ("index", "forward", "build"):
                shutil.rmtree(job)
                shutil.copytree(kept, job)
        assert entries(copy[0].parent, job) - outside == {kept, *kept.rglob("*")}
        assert outside <= entries(copy[0].parent, job)
    assert refused > SEEDS // 2
    assert used > SEEDS


def change_source(body: Any, **changes: Any) -> Any:
    body["job"]["sources"][0].update(changes)
    return body


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "jdbc"}, "format 'jdbc' is none of parquet, orc, csv, json, range"),
        ({"format": "org.apache.spark.sql.jdbc"}, r"format 'org\.apache"),
        ({"format": "text"}, "format 'text'"),
        ({"options": {"driver": "com.evil.Driver"}}, "option 'driver' is not known for parquet"),
        ({"options": {"fs.file.impl": "com.evil.Fs"}}, r"option 'fs\.file\.impl' is not known"),
        ({"options": {"IO.Compression.Codecs": "com.evil.C"}}, "is not known"),
        ({"options": {"compression": "com.evil.C"}}, "which is not a compression"),
        ({"options": {"basePath": "/etc"}}, "which is not above"),
        ({"options": {"__globPaths__": "true"}}, "is not known"),
        ({"roots": ["relative"]}, "'relative' is not a whole local path"),
        ({"roots": ["s3a://bucket/x"]}, "is not a whole local path"),
        ({"roots": ["jdbc:postgresql://x"]}, "is not a whole local path"),
        ({"roots": ["/data/../etc"]}, "is not a whole local path"),
        ({"roots": ["/data\0"]}, "is not a whole local path"),
        ({"roots": ["/elsewhere"]}, "is under none of its paths"),
        ({"roots": []}, "is under none of its paths"),
        ({"name": "another"}, "no source 'staff', which is scanned"),
    ],
)
def test_sources_are_files_of_known_formats_in_named_places(
    changes: dict[str, Any], message: str, store: Store
) -> None:
    body = change_source(body_of(store), **changes)
    with pytest.raises(JobFormatError, match=message):
        decode_job(sealed(body), "job.json")


@pytest.mark.parametrize(
    "key", ["spark.sql.extensions", "spark.sql.catalog.x", "spark.jars", "spark.sql.warehouse.dir"]
)
def test_no_setting_is_put_in_force_but_those_that_change_results(key: str, store: Store) -> None:
    body = body_of(store)
    body["job"]["settings"]["conf"][key] = "com.evil.Class"
    with pytest.raises(JobFormatError, match=f"setting '{key}' is not among the settings"):
        decode_job(sealed(body), "job.json")


def test_a_file_that_is_not_under_the_roots_is_refused(store: Store) -> None:
    for place in ("/etc/passwd", "{root}x", "{root}/../x"):
        body = body_of(store)
        (root,) = body["job"]["sources"][0]["roots"]
        body["job"]["sources"][0]["files"][0]["path"] = place.format(root=root)
        with pytest.raises(JobFormatError, match=r"is under none of its paths|whole local path"):
            decode_job(sealed(body), "job.json")


@pytest.mark.parametrize("folder", ["../x", "/etc", "a/../../b", "..", ".", "", "a\0", "a\\..\\b"])
def test_stored_results_are_in_the_job_s_folder(folder: str, store: Store) -> None:
    def folder_of(result: Any) -> None:
        result["folder"] = folder

    def file_of(result: Any) -> None:
        result["files"][0]["name"] = folder

    spoils: list[Callable[[Any], None]] = [folder_of, file_of]
    for spoil in spoils:
        for find in (lambda job: job["output"], lambda job: job["intermediates"][0]["result"]):
            body = body_of(store)
            spoil(find(body["job"]))
            with pytest.raises(JobFormatError, match="is not inside"):
                decode_job(sealed(body), "job.json")


def test_a_folder_that_is_a_link_leads_nowhere(copy: Store, tmp_path: Path) -> None:
    folder = copy[0] / copy[1] / "node-2"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"leads to .*elsewhere.* outside the job's folder"):
        opened(copy).lineage(TARGET, mode="stored")
    answer = opened(copy).lineage(TARGET)
    assert answer.mode != "stored"
    assert any("outside the job's folder" in note for note in answer.notes)
    assert (tmp_path / "elsewhere" / "part-0.parquet").exists()


NAMES = [
    "../../x",
    "/etc/x",
    "..",
    ".",
    "",
    ".hidden",
    "a/b",
    "A/B",
    "a_b",
    "x" * 300,
    "a\0b",
    "ü[2]",
]


def test_names_of_folders_are_safe_and_their_own() -> None:
    found = folder_names(NAMES)
    assert len({name.casefold() for name in found}) == len(NAMES)
    for name in found:
        assert os.path.basename(os.path.normpath(f"/out/{name}")) == name
        assert name[0] not in ". "
        assert len(name.encode()) < 120
    assert folder_names(["orders", "lineitem[2]", "größe"]) == ["orders", "lineitem[2]", "größe"]


def test_out_stays_in_its_folder(copy: Store, tmp_path: Path) -> None:
    body = body_of(copy)
    evil = "../../../x"
    body["job"]["sources"][0]["name"] = evil
    for operator in body["job"]["graph"]:
        if "table" in operator:
            operator["table"] = evil
    save(copy, body)
    before = {path for path in tmp_path.rglob("*") if copy[0] not in path.parents}
    out = tmp_path / "deep" / "er" / "out"
    arguments = ["lineage", "latest", "--store", str(copy[0]), "--row", '["a", 100]']
    result = CliRunner().invoke(app, [*arguments, "--out", str(out), "--format", "parquet"])
    assert result.exit_code == 0, result.output
    made = {path for path in tmp_path.rglob("*") if copy[0] not in path.parents} - before
    assert made
    assert all(path in (out, *out.parents) or out in path.parents for path in made)
    assert "in the folder _" in result.output.replace("\n", " ")
    shown = CliRunner().invoke(app, arguments)
    assert str(tmp_path.parent) in shown.output.replace("\n", "")


def test_every_known_option_is_in_small_letters_and_names_no_class() -> None:
    for options in OPTIONS.values():
        for name in options:
            assert name == name.lower()
            assert not {"class", "driver", "impl", "url", "factory"} & set(name.split("."))
    assert refusal("PARQUET", {"MergeSchema": "true", "compression": "ZSTD"}, ["/a"]) is None
    assert refusal("csv", {"basePath": "file:///a"}, ["/a/b", "/a"]) is None


def test_the_first_two_schemas_are_read(tmp_path: Path) -> None:
    """They had neither checksums nor fingerprints, nor what the solver proved of scans."""
    store = make_store(tmp_path)
    opened(store).build_index()
    told = " ".join(opened(store).lineage(TARGET).notes)
    assert "without checksums" not in told
    assert "without fingerprints" not in told
    record = body_of(store)
    job = record["job"]
    results = [job["output"], *(item["result"] for item in job["intermediates"])]
    for part, field in [
        *((result, "files") for result in results),
        *((file, "fingerprint") for source in job["sources"] for file in source["files"]),
        *((scan, "contributes") for plan in job["plans"] for scan in plan["scans"]),
    ]:
        del part[field]
    read = decode_job(sealed(record), "job.json")
    assert read.output is not None
    assert read.output.files == ()
    assert {file.fingerprint for source in read.sources for file in source.files} == {""}
    save(store, record)
    for mode in ("auto", "indexed", "stored", "replayed", "refined"):
        answer = opened(store).lineage(TARGET, mode=mode)
        assert rows_of(answer) == ROWS_OF_TARGET
        told = " ".join(answer.notes)
        assert "without checksums" in told
        assert "without fingerprints" in told


def test_every_option_that_spark_knows_is_known_or_names_something(spark: SparkSession) -> None:
    """Those that are not taken name a class, or change which files Spark reads."""
    jvm: Any = spark._jvm
    objects = {
        "csv": "org.apache.spark.sql.catalyst.csv.CSVOptions",
        "json": "org.apache.spark.sql.catalyst.json.JSONOptions",
        "parquet": "org.apache.spark.sql.execution.datasources.parquet.ParquetOptions",
        "orc": "org.apache.spark.sql.execution.datasources.orc.OrcOptions",
    }
    files = "org.apache.spark.sql.execution.datasources.FileIndexOptions"

    def known(name: str) -> set[str]:
        module = jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)
        return set(str(module.getAllOptions().mkString(",")).lower().split(","))

    refused = {"ignoredpathsegmentregex"}
    for name, options in objects.items():
        assert known(options) | known(files) - refused <= OPTIONS[name] | refused


def test_a_pipeline_with_an_unknown_option_is_not_run(spark: SparkSession, tmp_path: Path) -> None:
    import predtrace

    spark.range(3).write.parquet(str(tmp_path / "t"))
    frame = spark.read.option("driver", "x").parquet(str(tmp_path / "t"))
    with pytest.raises(UnsupportedOperatorError, match="option 'driver' is not known for parquet"):
        predtrace.trace(frame)
