import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import pawl.Pawl;

/** The driver of the client for Java: ../README.md has the commands. */
public final class Driver {
    private static final Map<Class<?>, String> KINDS = Map.of(Pawl.Held.class, "held", Pawl.Lost.class, "lost",
            Pawl.NewGrant.class, "new-grant", Pawl.Unavailable.class, "unavailable", Pawl.Exhausted.class, "exhausted",
            Pawl.Refused.class, "refused", Pawl.Invalid.class, "invalid", Pawl.Protocol.class, "protocol",
            InterruptedException.class, "cancelled");
    private static Pawl client;
    private static Pawl.Lock lock;

    private static Pawl.Request with(Pawl.Request request, String wait, String ttl, String owner) {
        if (!wait.equals("-"))
            request.waitFor(Duration.ofMillis(Long.parseLong(wait)));
        if (!ttl.equals("-"))
            request.ttl(Duration.ofMillis(Long.parseLong(ttl)));
        return owner.equals("-") ? request : request.owner(owner);
    }

    private static String tokens() {
        return lock.tokens().values().stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    private static String said(Pawl.State state) {
        return state.isHeld() ? "held " + state.token() + " " + state.owner() : "free";
    }

    private static void connect(String[] words) {
        Pawl.Options options = new Pawl.Options().callTimeout(Duration.ofMillis(Long.parseLong(words[1])));
        if (!words[2].equals("-"))
            options.servers(words[2].split(" "));
        client = new Pawl(words.length > 3 ? options.key(words[3]) : options);
    }

    private static String nested(String wait, String name) throws InterruptedException {
        try (Pawl.Lock held = client.lock(name).ttl(Duration.ofSeconds(5)).hold()) {
            with(client.lock(held.names().get(0)), wait, "-", "-").acquire();
        }
        return "";
    }

    private static String cancel(String ms, String name) throws InterruptedException {
        Thread waiting = Thread.currentThread();
        Thread other = new Thread(() -> {
            try {
                Thread.sleep(Long.parseLong(ms));
            } catch (InterruptedException never) {
                return;
            }
            waiting.interrupt();
        });
        other.start();
        client.lock(name).acquire();
        other.join();
        return "";
    }

    /** The thread is interrupted in the block of the lock. */
    private static String leave(String name) throws InterruptedException {
        try (Pawl.Lock held = client.lock(name).ttl(Duration.ofSeconds(5)).hold()) {
            Thread.currentThread().interrupt();
            held.check();
        }
        if (Thread.interrupted())
            throw new InterruptedException();
        return "";
    }

    /** The thread is interrupted while it releases the lock. */
    private static String interrupt(String name) throws InterruptedException {
        Thread holder = Thread.currentThread();
        Thread other = new Thread(() -> {
            try {
                Thread.sleep(300);
            } catch (InterruptedException never) {
                return;
            }
            holder.interrupt();
        });
        try (Pawl.Lock held = client.lock(name).ttl(Duration.ofSeconds(5)).hold()) {
            other.start();
            held.check();
        }
        if (Thread.interrupted())
            throw new InterruptedException();
        return "";
    }

    private static String watch(String wait, int count, String name) throws InterruptedException {
        Pawl.Watch watch = wait.equals("-") ? client.watch(name) : client.watch(name, Duration.ofMillis(Long.parseLong(wait)));
        List<String> told = new ArrayList<>();
        for (Pawl.State state = watch.next(); state != null; state = told.size() < count ? watch.next() : null)
            told.add(said(state));
        return String.join(", ", told);
    }

    private static final Map<String, String> LEFT_OUT = Map.of("fork", "Java forks no process of itself", "fork_in_block",
            "Java forks no process of itself", "handle", "a signal interrupts no thread of Java",
            "end", "System.exit() ends a program of Java at once");

    private static String run(String[] words) throws InterruptedException {
        switch (words[0]) {
            case "client":
                connect(words);
                return "";
            case "acquire":
                String[] names = Arrays.copyOfRange(words, 4, words.length);
                lock = with(client.lock(names), words[1], words[2], words[3]).acquire();
                return tokens();
            case "seat":
                lock = with(client.semaphore(words[4], Integer.parseInt(words[3])), words[1], words[2], "-").acquire();
                return lock.seat() + " " + tokens();
            case "rwlock":
                boolean isRead = words[3].equals("read");
                lock = with(isRead ? client.reader(words[4]) : client.writer(words[4]), words[1], words[2], "-").acquire();
                return isRead ? lock.seat() + " " + tokens() : tokens();
            case "delayed":
                lock = with(client.lock(words[3]).delay(Duration.ofMillis(Long.parseLong(words[1]))), "-", words[2], "-")
                        .acquire();
                return tokens();
            case "keep": return String.valueOf(lock.release(Duration.ofMillis(Long.parseLong(words[1]))));
            case "close":
                client.close();
                return "";
            case "extend":
                if (words[1].equals("-"))
                    lock.extend();
                else
                    lock.extend(Duration.ofMillis(Long.parseLong(words[1])));
                return tokens();
            case "release": return String.valueOf(lock.release());
            case "left": return String.valueOf(lock.left().toMillis());
            case "renew":
                lock.renew();
                return "";
            case "stopped":
                lock.awaitStop();
                return String.valueOf(lock.left().toMillis());
            case "nested": return nested(words[1], words[2]);
            case "cancel": return cancel(words[1], words[2]);
            case "watch": return watch(words[1], Integer.parseInt(words[2]), words[3]);
            case "counter": return String.valueOf(client.nextValue(words[2], Long.parseLong(words[1])));
            case "inspect": return said(client.inspect(words[1]));
            case "leave": return leave(words[1]);
            case "interrupt": return interrupt(words[1]);
            case "threads": // the client's
                return String.valueOf(Thread.getAllStackTraces().keySet().stream().filter(one -> one.getName().startsWith("pawl"))
                        .count());
            case "group": return "";
            default: return null;
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String kind = "ok", value = "", text = "";
            try {
                value = run(line.split("\t"));
                kind = value == null ? "none" : kind;
                text = value == null ? LEFT_OUT.getOrDefault(line.split("\t")[0], "") : "";
            } catch (Exception failed) {
                kind = KINDS.getOrDefault(failed.getClass(), "another error: " + failed);
                text = String.valueOf(failed.getMessage());
                if (failed instanceof Pawl.PawlException)
                    text += " " + ((Pawl.PawlException) failed).type() + " " + ((Pawl.PawlException) failed).name();
                if (failed instanceof Pawl.Held)
                    text += " " + ((Pawl.Held) failed).owner();
            }
            out.print(kind + "\t" + value + "\t" + text.replace("\n", " ") + "\n");
            out.flush();
        }
    }
}
