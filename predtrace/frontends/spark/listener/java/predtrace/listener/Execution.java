package predtrace.listener;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A SQL execution, with the scans of executions that ran for it. */
public final class Execution {
  long root;
  long started;
  long ended;
  long files;
  boolean command;
  String error = "";
  String unknown = "";
  Object plan;
  Object session;
  final Map<String, String> settings = new HashMap<>();
  final List<Scan> scans = new ArrayList<>();

  /** Milliseconds since 1970. */
  public long started() {
    return started;
  }

  /** Milliseconds since 1970. */
  public long ended() {
    return ended;
  }

  /** Why the execution failed; empty if it did not. */
  public String error() {
    return error;
  }

  /** Why the files that it read are not known; empty if they are. */
  public String unknown() {
    return unknown;
  }

  /** The files that it wrote, as far as Spark counts them. */
  public long files() {
    return files;
  }

  /** Whether the plan is a command: something other than a query. */
  public boolean command() {
    return command;
  }

  /** The analyzed plan. */
  public Object plan() {
    return plan;
  }

  /** The session. */
  public Object session() {
    return session;
  }

  /** The settings that differed from Spark's own when it started, a line each: name=value. */
  public String[] settings() {
    return settings.entrySet().stream()
        .map(each -> each.getKey() + "=" + each.getValue())
        .toArray(String[]::new);
  }

  /** For each scan of files: its roots, whether it was pruned, and its files. */
  public String[][][] scans() {
    return scans.stream().map(Scan::asText).toArray(String[][][]::new);
  }
}
