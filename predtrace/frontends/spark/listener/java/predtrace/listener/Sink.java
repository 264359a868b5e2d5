package predtrace.listener;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * Queues what SQL executions of all sessions were, once they have ended.
 *
 * <p>Private classes of Spark are called by reflection, since versions differ. The queue is bounded:
 * what does not fit is counted, and never waited for. A queued execution has no reference to its
 * QueryExecution, which holds shuffles. Nothing here calls Python.
 */
public final class Sink extends SparkListener {
  private static final String COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command";

  private final BlockingQueue<Execution> ended;
  private final boolean actions;
  private final Map<Long, Execution> running = new HashMap<>();
  private final AtomicLong dropped = new AtomicLong();

  /** Without `actions`, only commands are queued. */
  public Sink(int capacity, boolean actions) {
    this.ended = new ArrayBlockingQueue<>(capacity);
    this.actions = actions;
  }

  /** The next execution that ended; null if none ends in so many milliseconds. */
  public Execution take(long milliseconds) throws InterruptedException {
    return ended.poll(milliseconds, TimeUnit.MILLISECONDS);
  }

  /** The executions that did not fit into the queue since this was asked last. */
  public long takeDropped() {
    return dropped.getAndSet(0);
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    try {
      switch (event.getClass().getSimpleName()) {
        case "SparkListenerSQLExecutionStart" -> start(event);
        case "SparkListenerSQLExecutionEnd" -> end(event);
        default -> { }
      }
    } catch (Throwable error) {
      dropped.incrementAndGet();
    }
  }

  private void start(Object event) throws ReflectiveOperationException {
    long id = (Long) call(event, "executionId");
    Object root = option(call(event, "rootExecutionId"));
    Execution execution = new Execution();
    execution.root = root == null ? id : (Long) root;
    execution.started = (Long) call(event, "time");
    for (Object pair : list(call(event, "modifiedConfigs"))) {
      execution.settings.put((String) call(pair, "_1"), (String) call(pair, "_2"));
    }
    running.put(id, execution);
  }

  private void end(Object event) throws ReflectiveOperationException {
    long id = (Long) call(event, "executionId");
    Execution execution = running.remove(id);
    if (execution == null) {
      return;
    }
    Object query = call(event, "qe");
    if (query == null) {
      dropped.incrementAndGet();
      return;
    }
    Object error = option(call(event, "errorMessage"));
    execution.error = error == null ? "" : error.toString();
    execution.ended = (Long) call(event, "time");
    if (execution.error.isEmpty()) {
      try {
        walk(call(query, "executedPlan"), execution, new HashSet<>());
      } catch (ReflectiveOperationException | RuntimeException problem) {
        execution.unknown = String.valueOf(problem);
      }
    }
    if (execution.root != id) {
      Execution root = running.get(execution.root);
      if (root != null) {
        root.scans.addAll(execution.scans);
        root.files += execution.files;
        root.unknown = root.unknown.isEmpty() ? execution.unknown : root.unknown;
      }
      return;
    }
    execution.plan = call(query, "analyzed");
    execution.session = call(query, "sparkSession");
    execution.command = is(execution.plan.getClass(), COMMAND);
    if ((execution.command || actions) && !ended.offer(execution)) {
      dropped.incrementAndGet();
    }
  }

  /** Collects the scans of files in an executed plan, also below what hides its children. */
  private static void walk(Object plan, Execution found, Set<Integer> seen)
      throws ReflectiveOperationException {
    if (!seen.add(System.identityHashCode(plan))) {
      return;
    }
    String name = plan.getClass().getSimpleName();
    if (name.equals("FileSourceScanExec") && isKnown(plan, "selectedPartitions")) {
      Object[] files = (Object[]) call(call(plan, "selectedPartitions"), "toPartitionArray");
      boolean pruned = !list(call(plan, "partitionFilters")).isEmpty();
      found.scans.add(new Scan(call(call(plan, "relation"), "location"), pruned, List.of(files)));
    } else if (name.equals("BatchScanExec")
        && has(call(plan, "scan"), "fileIndex")
        && isKnown(plan, "inputPartitions")) {
      Object scan = call(plan, "scan");
      List<Object> files = new ArrayList<>();
      for (Object partition : list(call(plan, "inputPartitions"))) {
        files.addAll(List.of((Object[]) call(partition, "files")));
      }
      boolean pruned = !list(call(scan, "partitionFilters")).isEmpty();
      found.scans.add(new Scan(call(scan, "fileIndex"), pruned, files));
    } else if (name.equals("DataWritingCommandExec")) {
      for (Object pair : list(call(plan, "metrics"))) {
        if (call(pair, "_1").equals("numFiles")) {
          found.files += (Long) call(call(pair, "_2"), "value");
        }
      }
    } else if (name.equals("AdaptiveSparkPlanExec")) {
      walk(call(plan, "executedPlan"), found, seen);
    } else if (name.endsWith("QueryStageExec")) {
      walk(call(plan, "plan"), found, seen);
    } else if (name.equals("ReusedExchangeExec")) {
      walk(call(plan, "child"), found, seen);
    } else if (name.equals("CommandResultExec")) {
      walk(call(plan, "commandPhysicalPlan"), found, seen);
    } else if (name.equals("InMemoryTableScanExec")) {
      walk(call(call(plan, "relation"), "cachedPlan"), found, seen);
    }
    for (Object child : list(call(plan, "children"))) {
      walk(child, found, seen);
    }
    for (Object subquery : list(call(plan, "subqueries"))) {
      walk(subquery, found, seen);
    }
  }

  static Object call(Object target, String method) throws ReflectiveOperationException {
    return target.getClass().getMethod(method).invoke(target);
  }

  static List<Object> list(Object scala) {
    List<Object> found = new ArrayList<>();
    ((scala.collection.Iterable<?>) scala).iterator().foreach(item -> found.add(item));
    return found;
  }

  private static Object option(Object scala) {
    return ((scala.Option<?>) scala).isEmpty() ? null : ((scala.Option<?>) scala).get();
  }

  private static boolean has(Object target, String method) {
    for (java.lang.reflect.Method each : target.getClass().getMethods()) {
      if (each.getName().equals(method) && each.getParameterCount() == 0) {
        return true;
      }
    }
    return false;
  }

  /** Whether a lazy value was computed. Scans that never ran would list their files only now. */
  private static boolean isKnown(Object target, String lazy) throws ReflectiveOperationException {
    java.lang.reflect.Field field = target.getClass().getDeclaredField(lazy);
    field.setAccessible(true);
    return field.get(target) != null;
  }

  private static boolean is(Class<?> type, String name) {
    if (type == null) {
      return false;
    }
    boolean found = type.getName().equals(name) || is(type.getSuperclass(), name);
    for (Class<?> each : type.getInterfaces()) {
      found = found || is(each, name);
    }
    return found;
  }
}
