// Loaded as an agent by a JVM that was started before there was anything to run: waits for its orders
// (hotcell/request.h, Runtime), then the JVM goes on and loads the main class as it always does.
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;

public final class Warm {
    private Warm() {}

    public static void premain(String options) throws IOException {
        // What most programs use first, loaded while nobody waits.
        String.format("%s %d %.1f", "a", 1, 1.5);
        new java.util.HashMap<String, Integer>().merge("a", 1, Integer::sum);
        java.util.stream.IntStream.range(0, 4).boxed().map(i -> "" + i).toList();
        new java.io.FileOutputStream(FileDescriptor.out).write(0);
        FileInputStream in = new FileInputStream(FileDescriptor.in);
        int length = Integer.parseInt(new String(take(in, 10), java.nio.charset.StandardCharsets.US_ASCII));
        take(in, length);
    }

    private static byte[] take(FileInputStream in, int count) throws IOException {
        byte[] bytes = new byte[count];
        for (int at = 0; at < count;) {
            int got = in.read(bytes, at, count - at);
            if (got < 0) Runtime.getRuntime().halt(0); // nobody wanted us
            at += got;
        }
        return bytes;
    }
}
