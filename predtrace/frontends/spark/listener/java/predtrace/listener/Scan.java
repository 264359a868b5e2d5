package predtrace.listener;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An executed scan of files: what it was asked to read, and the files that it chose. */
final class Scan {
  private final List<String> roots = new ArrayList<>();
  private final Map<String, String[]> files = new LinkedHashMap<>();
  private final boolean pruned;

  /** `parts` are Spark's PartitionedFile: parts of files, or whole ones. */
  Scan(Object index, boolean pruned, List<Object> parts) throws ReflectiveOperationException {
    this.pruned = pruned;
    for (Object path : Sink.list(Sink.call(index, "rootPaths"))) {
      roots.add(path.toString());
    }
    for (Object part : parts) {
      String path = Sink.call(Sink.call(part, "filePath"), "toPath").toString();
      String size = Sink.call(part, "fileSize").toString();
      files.put(path, new String[] {path, size, Sink.call(part, "modificationTime").toString()});
    }
  }

  /** The roots, then whether files were left out by their partition, then each file. */
  String[][] asText() {
    List<String[]> rows = new ArrayList<>();
    rows.add(roots.toArray(String[]::new));
    rows.add(new String[] {String.valueOf(pruned)});
    rows.addAll(files.values());
    return rows.toArray(String[][]::new);
  }
}
