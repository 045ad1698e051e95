import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import pawl.Pawl;

/**
 * The believer of the client for Java (README.md). Java has no call for CLOCK_BOOTTIME: its time is bounded from both
 * sides by /proc/uptime, and a line claims no time outside of the belief.
 */
public final class Believer {
    private static final long STEP_MS = 10;
    private static final long HOLD_MOST_MS = 3000;
    private static final double RUNS_OUT = 0.1; // the part of the locks that are not extended
    private static final int TICKS = 10; // of /proc/uptime that are looked at
    private static final long TICK_US = 10_000;
    private static final Path DIARY = Path.of(System.getenv("PAWL_BELIEF_FILE"));
    private static long leastUs = Long.MIN_VALUE; // the boot clock is ahead of Java's by so much
    private static long mostUs = Long.MAX_VALUE;

    private static long steadyUs() {
        return System.nanoTime() / 1000;
    }

    private static long uptimeUs() throws IOException {
        String seconds = Files.readString(Path.of("/proc/uptime")).split(" ")[0];
        return Long.parseLong(seconds.replace(".", "")) * 10_000;
    }

    private static void findOffsets() throws IOException {
        for (int tick = 0; tick < TICKS; tick++) {
            long beforeUs = steadyUs();
            long lastUs = uptimeUs();
            long nextUs = lastUs;
            while (nextUs == lastUs) {
                mostUs = Math.min(mostUs, lastUs + TICK_US - beforeUs);
                beforeUs = steadyUs();
                nextUs = uptimeUs();
            }
            leastUs = Math.max(leastUs, nextUs - steadyUs());
        }
    }

    private static void write(String line) throws IOException {
        Files.write(DIARY, (line + "\n").getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    /** Asks for a time, or until the answer is no. It asks once more after each pause: a process may have been stopped. */
    private static void watch(Pawl.Lock lock, long ms) throws IOException, InterruptedException {
        long endUs = steadyUs() + ms * 1000;
        long beginUs = 0;
        for (boolean isFirst = true; isFirst || steadyUs() < endUs; isFirst = false) {
            long nowUs = steadyUs() + leastUs;
            if (!lock.isHeld()) {
                write("LOST " + (steadyUs() + mostUs) + " " + lock.token() + " " + lock.lockId());
                return;
            }
            if (!isFirst && nowUs > beginUs)
                write(beginUs + " " + nowUs + " " + lock.token() + " " + lock.lockId());
            beginUs = steadyUs() + mostUs;
            Thread.sleep(STEP_MS);
        }
    }

    private static void believe(Pawl client, String name) throws IOException, InterruptedException {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        Pawl.Request request = client.lock(name).ttl(Duration.ofMillis(random.nextLong(1000, 2001)))
                .waitFor(Duration.ofSeconds(2));
        if (random.nextDouble() < RUNS_OUT) {
            watch(request.acquire(), 2 * HOLD_MOST_MS);
            return;
        }
        try (Pawl.Lock lock = request.hold()) {
            watch(lock, Math.round(HOLD_MOST_MS * Math.pow(random.nextDouble(), 6)));
        }
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        findOffsets();
        Pawl client = new Pawl();
        long endUs = steadyUs() + Math.round(Double.parseDouble(System.getenv("PAWL_SECONDS")) * 1e6);
        while (steadyUs() < endUs) {
            try {
                believe(client, System.getenv("PAWL_NAME"));
            } catch (Pawl.Held | Pawl.Lost | Pawl.Unavailable | Pawl.Exhausted usual) {
                Thread.sleep(STEP_MS);
            }
        }
    }
}
