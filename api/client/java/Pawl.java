package pawl;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * A client of Pawl: locks with fencing tokens, over HTTP. One file, the standard library of Java 17 only.
 *
 * <pre>{@code
 * Pawl client = new Pawl(); // the servers of PAWL_SERVER
 * try (Pawl.Lock lock = client.lock("orders/42").ttl(Duration.ofSeconds(30)).hold()) {
 *     writeGuarded(lock.token()); // the data refuses an older token
 *     lock.check();               // throws Lost if the lock is no longer held
 * }
 * }</pre>
 *
 * <p>hold() extends the lock in the background, each time a third of the lease has passed. acquire() leaves that to the
 * caller: Lock.renew(), Lock.extend(). close() and release() release the lock.
 *
 * <p>A deadline is the time that the request was sent, plus the answer's served_ms and validity_ms. System.nanoTime()
 * does not count suspension on Linux; /proc/uptime does, in steps of 10 ms. Elsewhere the wall clock tells of a
 * suspension, unless it is set back meanwhile. The clock that went further counts, less one step. So held() is right
 * however late an answer came, and after a process was stopped.
 *
 * <p>A holder that is stopped past its deadline still believes that it holds the lock, until it asks again. No client
 * can prevent that. Send the token along with every write, and check the token where the write lands.
 *
 * <p>A call waits for a lock without end, unless waitFor() says how long. No proxy is ever used. Answers of a gateway
 * (502, 503, 504, 408, a page of HTML) and connections that a gateway cuts end no wait.
 *
 * <p>A client and a lock may be used by any number of threads. Interrupting a thread ends its acquire(), hold() or
 * watch; other calls go on, and leave the thread interrupted. Java forks no process of itself: a child of
 * ProcessBuilder inherits no client and no lock.
 */
@SuppressWarnings("serial") // no exception is sent to another program
public final class Pawl implements AutoCloseable {
    public static final String SERVER_DEFAULT = "http://127.0.0.1:7380";
    public static final String SOCKET_DEFAULT = "unix:/run/pawl/pawld.sock";

    private static final int SERVERS_MAX = 8;
    private static final int NAMES_MAX = 64; // that one lock can have
    private static final int PERMITS_MAX = 64; // of a semaphore
    private static final int READERS_MAX = 63; // seats that a fleet may have for a read-write lock
    private static final int NAME_MAX = 255; // bytes of a name
    private static final int OWNER_MAX = 128; // bytes of a label
    private static final int KEY_MAX = 127;
    private static final int SOCKET_PATH_MAX = 107;
    private static final int BODY_MAX = 4 << 20; // bytes of an answer
    private static final int HEAD_MAX = 64 << 10;
    private static final int DEPTH_MAX = 256; // of an answer; a stack has room for a few thousand frames
    private static final int IDLE_MAX = 8; // connections that wait for the next call, of a server
    private static final int LOCK_ID_BYTES = 21;
    private static final long TOKEN_MAX = (1L << 53) - 1;
    private static final long TTL_MAX_MS = 24 * 3600 * 1000L; // no fleet allows a longer lease
    private static final long CALL_TIMEOUT_MS = 5000;
    private static final long CALL_TIMEOUT_MAX_MS = 600_000;
    private static final long CONNECT_TIMEOUT_MS = 2000;
    private static final int SPELLINGS = 64; // of a name: its first six letters, as capitals or not
    private static final long SPELLING_MS = 1000; // of one: Java forgets a name before its spelling is back
    private static final long WATCHDOG_IDLE_MS = 2000; // until its thread ends
    private static final long IDLE_MS = 30_000; // of a connection; a pawld closes it after 75 s
    private static final long WAIT_STEP_MS = 60_000; // what one request waits at most: a stopped server is noticed then
    private static final long WATCH_STEP_MS = 50_000; // of a watch; proxies cut after 60 s, commonly
    private static final long PAUSE_LEAST_MS = 50; // between two attempts, doubled each time
    private static final long PAUSE_MOST_MS = 1000;
    private static final long CUT_LEAST_MS = 500; // a request that waited so long reached a pawld or a gateway
    private static final long LATE_MS = 500; // to release a lock whose validity has ended
    private static final long NAP_MOST_MS = 500; // of the renewer: its naps do not count suspension
    private static final long SERVED_SLACK_MS = 1000; // two clocks, and their steps
    private static final long FOREVER = Long.MAX_VALUE / 4;
    private static final String UNIX = "unix:";

    /* ---- text of others ---- */

    private static boolean isOdd(int c) {
        return c < 0x20 || c >= 0x7f && c <= 0x9f || c == 0x61c || c == 0x200e || c == 0x200f
                || c >= 0x2028 && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c >= 0xd800 && c <= 0xdfff;
    }

    /**
     * The text, fit for terminals and lines of logs: a server may be anybody's. Each byte of a control character
     * becomes \xNN, also of a change of the direction of writing.
     */
    private static String plain(String text) {
        StringBuilder out = new StringBuilder();
        text.codePoints().forEach(c -> {
            if (!isOdd(c)) {
                out.appendCodePoint(c);
                return;
            }
            for (byte one : Character.toString(c).getBytes(StandardCharsets.UTF_8))
                out.append(String.format("\\x%02x", one & 0xff));
        });
        return out.toString();
    }

    /** Reads an answer as JSON. All clients refuse the same answers. */
    private static final class Json {
        private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
        private final String text;
        private int at;

        private Json(String text) {
            this.text = text;
        }

        /** The value with plain strings: Map, List, String, Long, Double, Boolean or NULL. Null: it is no JSON. */
        static Object parse(byte[] body) {
            try {
                Json json = new Json(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
                Object value = json.value(0);
                json.skipSpace();
                return json.at == json.text.length() ? value : null;
            } catch (CharacterCodingException | IllegalArgumentException | StringIndexOutOfBoundsException refused) {
                return null;
            }
        }

        static final Object NULL = new Object();

        private char next() {
            return text.charAt(at++);
        }

        private void skipSpace() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0)
                at++;
        }

        private boolean take(char wanted) {
            skipSpace();
            if (text.charAt(at) != wanted)
                return false;
            at++;
            return true;
        }

        private void expect(boolean right) {
            if (!right)
                throw new IllegalArgumentException();
        }

        private Object word(String word, Object value) {
            expect(text.startsWith(word, at));
            at += word.length();
            return value;
        }

        private Object value(int depth) {
            expect(depth <= DEPTH_MAX);
            skipSpace();
            switch (text.charAt(at)) {
                case '{': return object(depth);
                case '[': return list(depth);
                case '"': return plain(string());
                case 't': return word("true", Boolean.TRUE);
                case 'f': return word("false", Boolean.FALSE);
                case 'n': return word("null", NULL);
                default: return number();
            }
        }

        private Object object(int depth) {
            Map<String, Object> members = new HashMap<>();
            at++;
            if (take('}'))
                return members;
            do {
                expect(take('"'));
                at--;
                String name = string();
                expect(plain(name).equals(name) && take(':'));
                members.put(name, value(depth + 1)); // of the same name the last one counts
            } while (take(','));
            expect(take('}'));
            return members;
        }

        private Object list(int depth) {
            List<Object> items = new ArrayList<>();
            at++;
            if (take(']'))
                return items;
            do
                items.add(value(depth + 1));
            while (take(','));
            expect(take(']'));
            return items;
        }

        private Object number() {
            Matcher matcher = NUMBER.matcher(text).region(at, text.length());
            expect(matcher.lookingAt());
            at = matcher.end();
            if (matcher.group(2) == null && matcher.group(3) == null)
                return Long.valueOf(matcher.group());
            double value = Double.parseDouble(matcher.group());
            expect(!Double.isInfinite(value));
            return value;
        }

        /** A string without a NUL, and without half of a surrogate pair. */
        private String string() {
            StringBuilder out = new StringBuilder();
            at++;
            for (char c = next(); c != '"'; c = next()) {
                expect(c >= 0x20);
                out.append(c == '\\' ? escape() : c);
            }
            expect(out.indexOf("\0") < 0 && out.codePoints().noneMatch(c -> c >= 0xd800 && c <= 0xdfff));
            return out.toString();
        }

        private char escape() {
            char c = next();
            if (c == 'u') {
                String digits = text.substring(at, at + 4);
                expect(digits.matches("[0-9a-fA-F]{4}"));
                at += 4;
                return (char) Integer.parseInt(digits, 16);
            }
            int kind = "\"\\/bfnrt".indexOf(c);
            expect(kind >= 0);
            return "\"\\/\b\f\n\r\t".charAt(kind);
        }

        /** The value as JSON: a Map, List, String or number. */
        static String write(Object value) {
            if (value instanceof Map) {
                List<String> members = new ArrayList<>();
                ((Map<?, ?>) value).forEach((name, member) -> members.add(write(name) + ":" + write(member)));
                return "{" + String.join(",", members) + "}";
            }
            if (value instanceof List) {
                List<String> items = new ArrayList<>();
                ((List<?>) value).forEach(item -> items.add(write(item)));
                return "[" + String.join(",", items) + "]";
            }
            return value instanceof String ? quote((String) value) : String.valueOf(value);
        }

        private static String quote(String text) {
            StringBuilder out = new StringBuilder("\"");
            for (char c : text.toCharArray()) {
                if (c == '"' || c == '\\')
                    out.append('\\').append(c);
                else if (c < 0x20)
                    out.append(String.format("\\u%04x", (int) c));
                else
                    out.append(c);
            }
            return out.append('"').toString();
        }
    }

    /* ---- errors ---- */

    /** What all exceptions of this client are. */
    public static class PawlException extends RuntimeException {
        private String said;
        private String type = "";
        private String name;
        private boolean isNamed; // the sentence has the name of the lock
        private boolean reached; // the request may have reached a server
        private boolean cut; // the connection was closed then, without an answer
        private boolean foreign; // the answer is not one of a pawld
        private int status; // of the answer; 0: there is none

        PawlException(String message) {
            said = plain(message);
        }

        @Override
        public String getMessage() {
            return said;
        }

        /** The type of the server's problem, such as "no-quorum"; "": there is none. */
        public String type() {
            return type;
        }

        /** The name of the lock; null: not known, or several. */
        public String name() {
            return name;
        }

        PawlException named(String lock) {
            name = lock;
            isNamed = true;
            return this;
        }

        /** Adds that the names could not be acquired, say. */
        PawlException about(String verb, List<String> names) {
            if (isNamed)
                return this;
            String more = names.size() > 1 ? " and " + (names.size() - 1) + " more" : "";
            said = plain("cannot " + verb + " " + names.get(0) + more + ": " + said);
            return named(names.size() > 1 ? null : names.get(0));
        }
    }

    /** Another caller holds the lock, and held it until the wait ended: try later. */
    public static final class Held extends PawlException {
        private String owner;
        private Duration retryAfter;

        Held(String message) {
            super(message);
        }

        /** The label of the holder; null: not known. */
        public String owner() {
            return owner;
        }

        /** The time until the holder's lease ends, unless it is extended; null: not known. */
        public Duration retryAfter() {
            return retryAfter;
        }
    }

    /** The lock is no longer held, or an operator broke it ("lock-broken" is the type): stop the work. */
    public static class Lost extends PawlException {
        Lost(String message) {
            super(message);
        }
    }

    /** An extension acquired the lock again, and another one may have held it in between. */
    public static final class NewGrant extends Lost {
        private final long token;

        NewGrant(String message, long token) {
            super(message);
            this.token = token;
        }

        /** The new token. */
        public long token() {
            return token;
        }
    }

    /** No server answered, or none has a majority: try later. A held lock stays so until its deadline. */
    public static final class Unavailable extends PawlException {
        Unavailable(String message) {
            super(message);
        }
    }

    /** The lock has reached its extension limit: acquire it again. It is held until its deadline. */
    public static final class Exhausted extends PawlException {
        Exhausted(String message) {
            super(message);
        }
    }

    /** Refused, and retrying will not help: read the message. The type is "nested" where the caller holds the lock. */
    public static class Refused extends PawlException {
        Refused(String message) {
            super(message);
        }
    }

    /** An argument is wrong, or the server says that one is: do not repeat. */
    public static final class Invalid extends Refused {
        Invalid(String message) {
            super(message);
        }
    }

    /** The answer did not come from a pawld: check the address. */
    public static final class Protocol extends PawlException {
        Protocol(String message) {
            super(message);
        }
    }

    private static void require(boolean right, String format, Object... arguments) {
        if (!right)
            throw new Invalid(String.format(format, arguments));
    }

    private static final Set<String> HELD = Set.of("held", "wait-timeout", "contended");
    private static final Set<String> LOST = Set.of("lock-lost", "lock-broken");
    private static final Set<String> UNAVAILABLE = Set.of("no-quorum", "too-slow", "not-ready", "no-memory", "stopping",
            "busy", "too-many-waiters", "request-timeout");

    /* ---- clock ---- */

    /** A moment on the two clocks, in milliseconds. */
    private static final class Moment {
        private static final RandomAccessFile BOOT_CLOCK = open(); // once: descriptors may run out later
        private static final long STEP_MS = BOOT_CLOCK != null ? 10 : 1;
        private static final long UNKNOWN = -1;

        private final long steadyMs = steadyMs();
        private final long otherMs = BOOT_CLOCK != null ? bootMs() : System.currentTimeMillis();

        private static RandomAccessFile open() {
            try {
                return new RandomAccessFile("/proc/uptime", "r");
            } catch (IOException none) {
                return null;
            }
        }

        private static long bootMs() {
            try {
                byte[] bytes = new byte[64];
                int length;
                synchronized (BOOT_CLOCK) { // not a channel, which an interrupted thread would close
                    BOOT_CLOCK.seek(0);
                    length = BOOT_CLOCK.read(bytes);
                }
                String seconds = new String(bytes, 0, length, StandardCharsets.US_ASCII);
                int point = seconds.indexOf('.');
                return Long.parseLong(seconds.substring(0, point)) * 1000
                        + Long.parseLong(seconds.substring(point + 1, point + 3)) * 10;
            } catch (IOException | RuntimeException unreadable) {
                return UNKNOWN;
            }
        }

        /** At least the time since this moment. */
        long elapsedMs(Moment later) {
            if (BOOT_CLOCK != null && (otherMs == UNKNOWN || later.otherMs == UNKNOWN))
                return Long.MAX_VALUE / 4; // each deadline has passed: none can be judged
            return Math.max(later.steadyMs - steadyMs, later.otherMs - otherMs + STEP_MS);
        }

        long elapsedMs() {
            return elapsedMs(new Moment());
        }
    }

    /** For waits and pauses, where nothing is lost by a suspension. */
    private static long steadyMs() {
        return System.nanoTime() / 1_000_000;
    }

    /* ---- answers ---- */

    private static final class Answer {
        final String server;
        final Moment sent;
        final long tookMs;
        final int status;
        final Map<?, ?> json;
        final String type; // of a problem, without urn:pawl:
        final boolean isForeign; // none of a pawld: a gateway answers, or another server

        Answer(String server, Moment sent, long tookMs, int status, Object value) {
            this.server = server;
            this.sent = sent;
            this.tookMs = tookMs;
            this.status = status;
            json = value instanceof Map ? (Map<?, ?>) value : Map.of();
            String text = text("type");
            type = text != null && text.startsWith("urn:pawl:") ? text.substring("urn:pawl:".length()) : "";
            isForeign = type.isEmpty() && (status >= 300 || value == null);
        }

        Answer part(int partStatus, Map<?, ?> body) {
            return new Answer(server, sent, tookMs, partStatus, body);
        }

        String text(String member) {
            Object value = json.get(member);
            return value instanceof String ? (String) value : null;
        }

        long integer(String member, long least, long most) {
            return integer(json, member, least, most);
        }

        long integer(Map<?, ?> values, String member, long least, long most) {
            Object value = values.get(member);
            if (!(value instanceof Long) || (Long) value < least || (Long) value > most)
                throw new Protocol(server + " returned an invalid " + member);
            return (Long) value;
        }

        /** That it is about one of names under lockId: a gateway can mix up its callers. */
        void check(String lockId, List<String> names) {
            checkMember("lock_id", List.of(lockId));
            checkMember("resource", names);
        }

        /** That the member is missing, or one of texts. */
        Answer checkMember(String member, List<String> texts) {
            String text = text(member);
            if (json.containsKey(member) && (text == null || !texts.contains(text)))
                throw new Protocol(server + " answers about another lock: a gateway between may have mixed up the answers "
                        + "of its callers");
            return this;
        }

        /** The end of the validity that it grants, of a lease of ttlMs. */
        Deadline until(long ttlMs) {
            long validityMs = integer("validity_ms", 0, ttlMs);
            long servedMs = integer("served_ms", 0, tookMs + SERVED_SLACK_MS);
            return new Deadline(sent, Math.min(servedMs, tookMs) + validityMs);
        }

        /** What a problem means. */
        PawlException failure() {
            String detail = text("detail");
            if (type.isEmpty() || detail == null)
                detail = server + " returned an unexpected " + status + ": is this a pawld?";
            PawlException failure = failure(ownWords(detail));
            failure.type = type;
            failure.foreign = isForeign;
            failure.status = status;
            failure.reached = true;
            return failure;
        }

        private PawlException failure(String detail) {
            String name = text("resource");
            boolean isNamed = name != null && !name.isEmpty();
            if (HELD.contains(type))
                return held(detail, isNamed ? name : null);
            if (LOST.contains(type) && isNamed) {
                String by = text("by");
                String broken = name + " was broken by " + (by == null ? "an operator" : by);
                String lost = name + " is no longer held under this lock id and token: stop the work, and acquire it again";
                return new Lost(type.equals("lock-broken") ? broken : lost).named(name);
            }
            if (LOST.contains(type))
                return new Lost(detail);
            if (type.equals("extensions-exhausted"))
                return new Exhausted(detail);
            if (UNAVAILABLE.contains(type) || status >= 500 || status == 408 || status == 429) // of a proxy, too
                return new Unavailable(detail);
            if (type.isEmpty())
                return new Protocol(detail);
            return status == 400 ? new Invalid(detail) : new Refused(detail);
        }

        private Held held(String detail, String name) {
            Object after = json.get("retry_after_ms");
            boolean isKnown = after instanceof Long && (Long) after >= 0 && (Long) after <= TOKEN_MAX;
            String owner = text("owner");
            String said = detail;
            if (name != null && !type.equals("contended")) {
                said = name + " is held by " + (owner == null || owner.isEmpty() ? "another caller" : owner);
                if (isKnown)
                    said += String.format(Locale.ROOT, ", for %.1f s unless extended", (Long) after / 1000.0);
            }
            Held held = new Held(said);
            if (said != detail)
                held.named(name);
            held.owner = owner;
            held.retryAfter = isKnown ? Duration.ofMillis((Long) after) : null;
            return held;
        }

        private static String ownWords(String detail) {
            return detail.replace("ttl_ms", "ttl (milliseconds)").replace("The resource must", "A name must");
        }
    }

    private static final class Deadline {
        private final Moment sent;
        private final long afterMs;

        Deadline(Moment sent, long afterMs) {
            this.sent = sent;
            this.afterMs = afterMs;
        }

        long leftMs(Moment at) {
            return Math.max(afterMs - sent.elapsedMs(at), 0);
        }
    }

    /* ---- one call ---- */

    /** Closes what hangs. */
    private static final ScheduledThreadPoolExecutor WATCHDOG = watchdog();

    private static ScheduledThreadPoolExecutor watchdog() {
        ScheduledThreadPoolExecutor made = new ScheduledThreadPoolExecutor(1, work -> daemon("pawl-watchdog", work));
        made.setRemoveOnCancelPolicy(true);
        made.setKeepAliveTime(WATCHDOG_IDLE_MS, TimeUnit.MILLISECONDS);
        made.allowCoreThreadTimeOut(true); // an idle thread would keep the classes of an application that was removed
        return made;
    }

    private static Thread daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }

    /** A request. */
    private static final class Call {
        final String method;
        final String path;
        final Map<String, Object> body; // null: none
        final Map<String, Object> headers = new LinkedHashMap<>();

        Call(String method, String path, Map<String, Object> body) {
            this.method = method;
            this.path = path;
            this.body = body;
        }

        Call with(String header, Object value) {
            headers.put(header, value);
            return this;
        }
    }

    /** A connection to a server. */
    private static final class Connection implements Closeable {
        final SocketChannel channel;
        InputStream in;
        OutputStream out;
        long idleSinceMs;
        volatile boolean isLate; // the watchdog closed it

        Connection(SocketAddress address) throws IOException {
            channel = address instanceof UnixDomainSocketAddress ? SocketChannel.open(StandardProtocolFamily.UNIX)
                    : SocketChannel.open();
        }

        void connect(SocketAddress address) throws IOException {
            channel.connect(address);
            in = new BufferedInputStream(Channels.newInputStream(channel));
            out = Channels.newOutputStream(channel);
            if (address instanceof InetSocketAddress) {
                channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            }
        }

        void encrypt(SSLContext context, String host, int port) throws IOException {
            SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(channel.socket(), host, port, true);
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            socket.setSSLParameters(parameters);
            socket.startHandshake();
            checkChain(socket.getSession().getPeerCertificates());
            in = new BufferedInputStream(socket.getInputStream());
            out = socket.getOutputStream();
        }

        /** Refuses a server whose certificate was signed by one that is no authority: Java believes CA:TRUE alone. */
        private static void checkChain(Certificate[] chain) throws IOException {
            for (int i = 1; i < chain.length; i++) {
                X509Certificate signer = (X509Certificate) chain[i];
                boolean isRoot = signer.getIssuerX500Principal().equals(signer.getSubjectX500Principal());
                boolean[] usage = signer.getKeyUsage();
                if (!isRoot && (usage == null || !usage[5]))
                    throw new SSLPeerUnverifiedException("its certificate is not trusted: a certificate that is not a CA "
                            + "signed it (server/TLS.md)");
            }
        }

        Future<?> closeAfter(long ms) {
            return WATCHDOG.schedule(() -> {
                isLate = true;
                close();
            }, Math.max(ms, 1), TimeUnit.MILLISECONDS);
        }

        @Override
        public void close() {
            try {
                channel.close();
            } catch (IOException ignored) {
                // it is closed already
            }
        }
    }

    /** The answer of a server, read from a connection. */
    private static final class Response {
        int status;
        byte[] body = {};
        boolean isKept; // the connection can serve the next call
        private final InputStream in;
        private long length = -1;
        private boolean isChunked;

        Response(InputStream in) throws IOException {
            this.in = in;
            String line;
            do {
                readHead();
            } while (status >= 100 && status < 200);
            if (isChunked)
                readChunks();
            else
                read(length >= 0 ? length : BODY_MAX + 1L, length >= 0);
            isKept = isKept && (isChunked || length >= 0);
        }

        private static final Pattern STATUS = Pattern.compile("HTTP/1\\.([01]) ([1-9][0-9]{2})( .*)?");

        private void readHead() throws IOException {
            Matcher matcher = STATUS.matcher(readLine());
            if (!matcher.matches())
                throw new IOException("the answer is not HTTP");
            status = Integer.parseInt(matcher.group(2));
            isKept = matcher.group(1).equals("1");
            int bytes = 0;
            for (String line = readLine(); !line.isEmpty(); line = readLine()) {
                bytes += line.length();
                int colon = line.indexOf(':');
                if (bytes > HEAD_MAX || colon <= 0)
                    throw new IOException("the head of the answer is not HTTP");
                readHeader(line.substring(0, colon).trim().toLowerCase(Locale.ROOT), line.substring(colon + 1).trim());
            }
        }

        private void readHeader(String name, String value) throws IOException {
            if (name.equals("content-length")) {
                if (!value.matches("[0-9]{1,15}"))
                    throw new IOException("the length of the answer is not a number");
                length = Long.parseLong(value);
            } else if (name.equals("transfer-encoding")) {
                isChunked = value.equalsIgnoreCase("chunked");
            } else if (name.equals("connection")) {
                isKept = isKept && !value.equalsIgnoreCase("close");
            }
        }

        private String readLine() throws IOException {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int c = in.read(); c != '\n'; c = in.read()) {
                if (c < 0)
                    throw new EOFException("the connection was closed without an answer");
                if (line.size() > HEAD_MAX)
                    throw new IOException("a line of the answer is too long");
                line.write(c);
            }
            String text = line.toString(StandardCharsets.ISO_8859_1);
            return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
        }

        private void read(long count, boolean isExact) throws IOException {
            if (body.length + (isExact ? count : 0) > BODY_MAX)
                throw new IOException("the answer is too long");
            byte[] part = in.readNBytes((int) count);
            if (isExact && part.length < count)
                throw new EOFException("the connection was closed in the middle of an answer");
            if (body.length + part.length > BODY_MAX)
                throw new IOException("the answer is too long");
            body = Arrays.copyOf(body, body.length + part.length);
            System.arraycopy(part, 0, body, body.length - part.length, part.length);
        }

        private void readChunks() throws IOException {
            for (;;) {
                String size = readLine().replaceFirst("[; ].*", "");
                if (!size.matches("[0-9a-fA-F]{1,7}"))
                    throw new IOException("a chunk of the answer has no size");
                int count = Integer.parseInt(size, 16);
                if (count > 0)
                    read(count, true);
                String after = readLine();
                while (count == 0 && !after.isEmpty()) // trailers
                    after = readLine();
                if (!after.isEmpty())
                    throw new IOException("a chunk of the answer has another size");
                if (count == 0)
                    return;
            }
        }
    }

    private static final class Server {
        final String url;
        private final String host; // with its port, as the header says
        private final String base;
        private final SSLContext context; // null: no TLS
        private final String name;
        private final int port; // 0: a socket
        private final ArrayDeque<Connection> idle = new ArrayDeque<>(); // its monitor guards what follows
        private boolean isClosed;
        private FutureTask<InetAddress[]> resolution; // the last one
        private int spelling; // of the name, below SPELLINGS
        private long spelledMs; // since when

        Server(String text, Options options) {
            if (text.startsWith(UNIX)) {
                name = text.substring(UNIX.length());
                require(name.startsWith("/") && !name.equals("/"),
                        "'%s' has no absolute path; name a socket as unix:/PATH, such as %s", text, SOCKET_DEFAULT);
                require(name.getBytes(StandardCharsets.UTF_8).length <= SOCKET_PATH_MAX && name.indexOf('\0') < 0,
                        "'%s' is too long: the path of a socket has at most %d bytes", text, SOCKET_PATH_MAX);
                url = text;
                host = "localhost";
                base = "";
                context = null;
                port = 0;
                return;
            }
            URI uri = uriOf(text);
            boolean isSecure = uri.getScheme().equalsIgnoreCase("https");
            url = text.replaceFirst("/+$", "");
            host = uri.getRawAuthority();
            base = uri.getRawPath().replaceFirst("/+$", "");
            name = uri.getHost().replaceAll("^\\[|\\]$", "");
            port = uri.getPort() > 0 ? uri.getPort() : isSecure ? 443 : 80;
            context = isSecure ? options.context() : null;
        }

        private static URI uriOf(String text) {
            // It may be a password, which no sentence shows.
            require(!text.contains("@"), "a server URL must have no user and no password; use a key instead");
            require(!text.contains(","), "'%s' has a comma: give each server separately; in PAWL_SERVER put a space "
                    + "between two servers", text);
            String wrong = "'%s' is not a valid URL of a server, such as " + SERVER_DEFAULT;
            require(text.matches("(?i)https?://[!-~]+") && !text.matches(".*[?#].*"), wrong, text);
            try {
                URI uri = new URI(text);
                require(uri.getHost() != null, wrong, text);
                boolean hasPort = uri.getRawAuthority().matches(".*:[0-9]+");
                require(!hasPort || uri.getPort() >= 1 && uri.getPort() <= 65535,
                        "'%s' has an invalid port: a port must be 1 to 65535", text);
                return uri;
            } catch (URISyntaxException invalid) {
                throw new Invalid(String.format(wrong, text));
            }
        }

        private Connection idle() {
            synchronized (idle) {
                for (Connection found = idle.pollLast(); found != null; found = idle.pollLast()) {
                    if (found.channel.isOpen() && steadyMs() - found.idleSinceMs < IDLE_MS)
                        return found;
                    found.close();
                }
                return null;
            }
        }

        private void keep(Connection connection) {
            synchronized (idle) {
                connection.idleSinceMs = steadyMs();
                idle.addLast(connection);
                if (isClosed || idle.size() > IDLE_MAX)
                    idle.pollFirst().close();
            }
        }

        private void close() {
            synchronized (idle) {
                isClosed = true;
                for (Connection found = idle.pollLast(); found != null; found = idle.pollLast())
                    found.close();
            }
        }

        private List<SocketAddress> addresses(long untilMs) throws IOException {
            if (port == 0)
                return List.of(UnixDomainSocketAddress.of(name));
            List<SocketAddress> addresses = new ArrayList<>();
            for (InetAddress address : isNumber() ? InetAddress.getAllByName(name) : resolve(untilMs))
                addresses.add(new InetSocketAddress(address, port));
            return addresses;
        }

        /** Whether the name is an address: Java parses it, and asks no resolver. */
        private boolean isNumber() {
            return name.indexOf(':') >= 0 || name.matches("[0-9.]+");
        }

        /** The system's resolver knows no timeout: one thread of a server waits for it, and calls wait for the thread. */
        private InetAddress[] resolve(long untilMs) throws IOException {
            FutureTask<InetAddress[]> task;
            synchronized (idle) {
                if (resolution == null || resolution.isDone()) {
                    String spelled = spelled();
                    resolution = new FutureTask<>(() -> InetAddress.getAllByName(spelled));
                    daemon("pawl-resolver " + name, resolution).start();
                }
                task = resolution;
            }
            try {
                return task.get(Math.max(Math.min(untilMs - steadyMs(), CONNECT_TIMEOUT_MS), 1), TimeUnit.MILLISECONDS);
            } catch (TimeoutException late) {
                throw new IOException("no address of " + name + " in time");
            } catch (ExecutionException failed) {
                respell();
                throw new IOException("no address of " + name + ": " + failed.getCause().getMessage());
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted");
            }
        }

        /**
         * The name to ask for. Java keeps the addresses of a name for 30 s, and a failure for 10 s, by its spelling; a
         * server that moved is found sooner under another one.
         */
        private String spelled() {
            StringBuilder text = new StringBuilder(name);
            for (int at = 0, bit = 1; at < text.length() && bit < SPELLINGS; at++) {
                char letter = text.charAt(at);
                if (!Character.isLetter(letter))
                    continue;
                text.setCharAt(at, (spelling & bit) == 0 ? letter : Character.toUpperCase(letter));
                bit <<= 1;
            }
            return text.toString();
        }

        /** No address of the name is that of a server. */
        private void respell() {
            synchronized (idle) {
                if (steadyMs() - spelledMs < SPELLING_MS)
                    return;
                spelling = (spelling + 1) % SPELLINGS;
                spelledMs = steadyMs();
            }
        }

        private Connection connect(long untilMs) throws IOException {
            IOException last = null;
            for (SocketAddress address : addresses(untilMs)) {
                Connection connection = new Connection(address);
                Future<?> end = connection.closeAfter(Math.min(untilMs - steadyMs(), CONNECT_TIMEOUT_MS));
                try {
                    connection.connect(address);
                    if (context != null)
                        connection.encrypt(context, name, port);
                    return connection;
                } catch (IOException failed) {
                    connection.close();
                    last = connection.isLate ? new IOException("no connection in time") : failed;
                    if (Thread.currentThread().isInterrupted())
                        throw last;
                } finally {
                    end.cancel(false);
                }
            }
            respell();
            throw last;
        }

        private byte[] bytesOf(Call call, String key) {
            byte[] body = call.body == null ? new byte[0] : Json.write(call.body).getBytes(StandardCharsets.UTF_8);
            StringBuilder head = new StringBuilder(call.method).append(' ').append(base).append(call.path)
                    .append(" HTTP/1.1\r\nHost: ").append(host).append("\r\nContent-Type: application/json\r\n");
            if (!key.isEmpty())
                head.append("Authorization: Bearer ").append(key).append("\r\n");
            call.headers.forEach((header, value) -> head.append(header).append(": ").append(value).append("\r\n"));
            head.append("Content-Length: ").append(body.length).append("\r\n\r\n");
            byte[] bytes = Arrays.copyOf(head.toString().getBytes(StandardCharsets.ISO_8859_1), head.length() + body.length);
            System.arraycopy(body, 0, bytes, head.length(), body.length);
            return bytes;
        }

        /** Asks once. Throws Unavailable where no answer came in time. */
        Answer ask(Call call, String key, long timeoutMs) throws InterruptedException {
            Moment sent = new Moment();
            long untilMs = steadyMs() + timeoutMs;
            Connection connection = idle();
            if (connection != null) {
                try {
                    return ask(connection, call, key, sent, untilMs);
                } catch (Unavailable failed) {
                    if (!((PawlException) failed).cut)
                        throw failed;
                    sent = new Moment(); // the server had closed an idle connection; each call may be repeated
                }
            }
            try {
                connection = connect(untilMs);
            } catch (IOException failed) {
                throw unavailable(failed, null);
            }
            return ask(connection, call, key, sent, untilMs);
        }

        private Answer ask(Connection connection, Call call, String key, Moment sent, long untilMs)
                throws InterruptedException {
            Future<?> end = connection.closeAfter(untilMs - steadyMs());
            boolean isKept = false;
            try {
                connection.out.write(bytesOf(call, key));
                connection.out.flush();
                Response response = new Response(connection.in);
                Moment came = new Moment();
                // Bytes behind an answer would be taken for the next one.
                isKept = response.isKept && connection.in.available() == 0 && end.cancel(false);
                return new Answer(url, sent, Math.max(sent.elapsedMs(came) - Moment.STEP_MS, 0), response.status,
                        Json.parse(response.body));
            } catch (IOException failed) {
                throw unavailable(failed, connection);
            } finally {
                end.cancel(false);
                if (isKept)
                    keep(connection);
                else
                    connection.close();
            }
        }

        /** InterruptedException where the thread was interrupted, which closed the connection. */
        private Unavailable unavailable(IOException failed, Connection connection) throws InterruptedException {
            if (Thread.interrupted())
                throw new InterruptedException("interrupted while " + url + " was asked");
            boolean isLate = connection != null && connection.isLate;
            String said = failed.getMessage() == null ? failed.getClass().getSimpleName() : failed.getMessage();
            Unavailable unavailable = new Unavailable(url + " does not answer: " + (isLate ? "timed out" : said));
            ((PawlException) unavailable).reached = connection != null;
            ((PawlException) unavailable).cut = connection != null && !isLate
                    && (failed instanceof EOFException || failed instanceof SocketException
                            || "Connection reset by peer".equals(failed.getMessage())
                            || "Broken pipe".equals(failed.getMessage()));
            return unavailable;
        }
    }

    /** How long to go on trying, and how long to pause before the next attempt. */
    private static final class Patience {
        long untilMs;
        long nextMs = PAUSE_LEAST_MS;

        Patience(long untilMs) {
            this.untilMs = untilMs;
        }

        /** Pauses before the next attempt. False: the time is over. */
        boolean pause() throws InterruptedException {
            long leftMs = untilMs - steadyMs();
            if (leftMs <= 0)
                return false;
            Thread.sleep(Math.min(nextMs, leftMs));
            nextMs = nextMs == 0 ? PAUSE_LEAST_MS : Math.min(nextMs * 2, PAUSE_MOST_MS);
            return true;
        }
    }

    /* ---- client ---- */

    /** Options of a client: new Pawl(new Pawl.Options().servers("http://127.0.0.1:7380")). */
    public static final class Options {
        private List<String> servers = List.of();
        private long callTimeoutMs = CALL_TIMEOUT_MS;
        private String key = variable("PAWL_KEY");
        private String caFile = variable("PAWL_CA_FILE");
        private String cert = variable("PAWL_CERT");
        private String certKey = variable("PAWL_CERT_KEY");
        private SSLContext made;

        private static String variable(String name) {
            String value = System.getenv(name);
            return value == null ? "" : value;
        }

        /**
         * URLs such as "http://127.0.0.1:7380", up to 8, or "unix:/run/pawl/pawld.sock", the socket of pawld --listen. The
         * client asks the next one where one does not answer. Without them: those of PAWL_SERVER, with spaces between; or
         * SOCKET_DEFAULT, where this process may connect to that socket; or SERVER_DEFAULT.
         */
        public Options servers(String... urls) {
            servers = List.of(urls);
            return this;
        }

        /** How long a call may take beyond what it waits for; 5 s by default. */
        public Options callTimeout(Duration timeout) {
            callTimeoutMs = timeout.toMillis();
            return this;
        }

        /** "pawl_...", where the servers ask for a key; that of PAWL_KEY by default. Use https beyond this machine. */
        public Options key(String text) {
            key = text;
            return this;
        }

        /** For https: the CA certificates to trust, in PEM; the file of PAWL_CA_FILE, or those of Java by default. */
        public Options caFile(String path) {
            caFile = path;
            return this;
        }

        /**
         * For https: the client certificate and its key, in PEM (PKCS #8); the files of PAWL_CERT and PAWL_CERT_KEY by
         * default.
         */
        public Options cert(String certPath, String keyPath) {
            cert = certPath;
            certKey = keyPath;
            return this;
        }

        private List<String> texts() {
            List<String> texts = servers;
            if (texts.isEmpty())
                texts = List.of(variable("PAWL_SERVER").trim().split("\\s+"));
            if (texts.equals(List.of("")) && servers.isEmpty())
                texts = List.of(Files.isWritable(Path.of(SOCKET_DEFAULT.substring(UNIX.length()))) ? SOCKET_DEFAULT
                        : SERVER_DEFAULT);
            return texts;
        }

        private SSLContext context() {
            if (made != null)
                return made;
            try {
                made = SSLContext.getInstance("TLS");
                made.init(keys(), trust(), null);
                return made;
            } catch (IOException | GeneralSecurityException | IllegalArgumentException wrong) {
                throw new Invalid("CA certificates, client certificate or its key: " + wrong.getMessage());
            }
        }

        private javax.net.ssl.TrustManager[] trust() throws IOException, GeneralSecurityException {
            if (caFile.isEmpty())
                return null; // those of Java
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            int count = 0;
            for (Certificate one : certificates(caFile))
                store.setCertificateEntry("ca-" + count++, one);
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            return factory.getTrustManagers();
        }

        private static List<Certificate> certificates(String path) throws IOException, CertificateException {
            // A certificate in PEM may have text before it, and a key behind it.
            Matcher matcher = Pattern.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", Pattern.DOTALL)
                    .matcher(Files.readString(Path.of(path), StandardCharsets.ISO_8859_1));
            List<Certificate> found = new ArrayList<>();
            while (matcher.find())
                found.add(CertificateFactory.getInstance("X.509").generateCertificate(
                        new java.io.ByteArrayInputStream(matcher.group().getBytes(StandardCharsets.ISO_8859_1))));
            if (found.isEmpty())
                throw new IOException(path + " has no certificate in PEM");
            return found;
        }

        private javax.net.ssl.KeyManager[] keys() throws IOException, GeneralSecurityException {
            if (cert.isEmpty())
                return null;
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setKeyEntry("client", privateKey(certKey.isEmpty() ? cert : certKey), new char[0],
                    certificates(cert).toArray(new Certificate[0]));
            KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            factory.init(store, new char[0]);
            return factory.getKeyManagers();
        }

        private static PrivateKey privateKey(String path) throws IOException, GeneralSecurityException {
            Matcher matcher = Pattern.compile("-----BEGIN PRIVATE KEY-----(.*?)-----END PRIVATE KEY-----", Pattern.DOTALL)
                    .matcher(Files.readString(Path.of(path), StandardCharsets.ISO_8859_1));
            if (!matcher.find())
                throw new IOException(path + " has no key in PKCS #8: convert it with openssl pkcs8 -topk8 -nocrypt");
            PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(matcher.group(1)));
            for (String algorithm : List.of("RSA", "EC", "EdDSA")) {
                try {
                    return KeyFactory.getInstance(algorithm).generatePrivate(spec);
                } catch (java.security.spec.InvalidKeySpecException another) {
                    continue;
                }
            }
            throw new IOException(path + " has a key that is neither RSA, EC nor EdDSA");
        }
    }

    private final List<Server> servers = new ArrayList<>();
    private final Set<String> urls = new HashSet<>();
    private final AtomicInteger current = new AtomicInteger(); // the server to ask next
    private final String key;
    private final long callTimeoutMs;
    private volatile boolean isOneByOne; // a server did not know a request about several names

    /** A client of the servers in PAWL_SERVER, or of the pawld of this machine. */
    public Pawl() {
        this(new Options());
    }

    /** Sends nothing. Throws Invalid. */
    public Pawl(Options options) {
        List<String> texts = options.texts();
        require(texts.size() <= SERVERS_MAX, "a client can have at most %d servers", SERVERS_MAX);
        key = options.key;
        callTimeoutMs = options.callTimeoutMs;
        require(key.length() <= KEY_MAX && key.matches("[!-~]*"), "a key must be one word of at most %d characters", KEY_MAX);
        require(callTimeoutMs > 0 && callTimeoutMs <= CALL_TIMEOUT_MAX_MS, "callTimeout must be 1 ms to %d ms",
                CALL_TIMEOUT_MAX_MS);
        for (String text : texts)
            servers.add(new Server(text, options));
        for (Server server : servers)
            urls.add(server.url);
    }

    /**
     * Closes the connections that wait for the next call. The locks of the client stay as they are: close them first. A
     * call that is made later has a connection of its own.
     */
    @Override
    public void close() {
        servers.forEach(Server::close);
    }

    /**
     * Asks the current server once. Where it has no answer, or may not answer the next time, the next call asks the
     * next server.
     */
    private Answer ask(Call call, long timeoutMs) throws InterruptedException {
        int at = current.get();
        try {
            Answer answer = servers.get(at).ask(call, key, Math.max(timeoutMs, 1));
            if (answer.status >= 300 || answer.isForeign)
                throw answer.failure();
            return answer;
        } catch (Unavailable failed) {
            current.compareAndSet(at, (at + 1) % servers.size());
            throw failed;
        }
    }

    /**
     * Repeats until there is an answer that is no reason to repeat. Each server gets its share of the time, so that one
     * that hangs does not use it up.
     */
    private Answer askUntil(Call call, long untilMs) throws InterruptedException {
        Patience patience = new Patience(untilMs);
        long shareMs = Math.max(untilMs - steadyMs(), 1) / servers.size();
        for (;;) {
            try {
                return ask(call, Math.min(shareMs, untilMs - steadyMs()));
            } catch (Unavailable failed) {
                if (!patience.pause() || steadyMs() >= untilMs)
                    throw failed;
            }
        }
    }

    private interface Work<T> {
        T run() throws InterruptedException;
    }

    /** Runs a bounded call to its end in a thread that may be interrupted: that would close its connection. */
    private static <T> T uninterrupted(Work<T> work) {
        boolean wasInterrupted = Thread.interrupted();
        try {
            for (;;) {
                try {
                    return work.run();
                } catch (InterruptedException again) {
                    wasInterrupted = true; // the work is repeated: each of them may be
                }
            }
        } finally {
            if (wasInterrupted)
                Thread.currentThread().interrupt();
        }
    }

    private static String pathOf(String kind, String name) {
        StringBuilder path = new StringBuilder("/v1/").append(kind).append('/');
        for (byte one : name.getBytes(StandardCharsets.UTF_8)) {
            boolean isPlain = one > ' ' && one < 0x7f && (Character.isLetterOrDigit(one) || "._~:@/-".indexOf(one) >= 0);
            path.append(isPlain ? String.valueOf((char) one) : String.format("%%%02X", one & 0xff));
        }
        return path.toString();
    }

    private static void checkName(String name) {
        require(name != null && StandardCharsets.UTF_8.newEncoder().canEncode(name), "a name must be a text");
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        require(bytes >= 1 && bytes <= NAME_MAX, "a name must have 1 to %d bytes, not %d", NAME_MAX, bytes);
    }

    private static Map<String, Object> body(Object... members) {
        Map<String, Object> body = new LinkedHashMap<>();
        for (int i = 0; i < members.length; i += 2)
            if (members[i + 1] != null)
                body.put((String) members[i], members[i + 1]);
        return body;
    }

    /** A lock of one name, or of several that are acquired all or none. */
    public Request lock(String... names) {
        return new Request(this, List.of(names), 0, null);
    }

    /** One seat of a semaphore that has 1 to 64 seats. The lock is named as the seat then: "imports#2". */
    public Request semaphore(String name, int permits) {
        require(permits >= 1 && permits <= PERMITS_MAX, "permits must be 1 to %d", PERMITS_MAX);
        return new Request(this, List.of(name), permits, null);
    }

    /** A read-write lock, together with other readers. The lock is named as the reader's seat then. */
    public Request reader(String name) {
        return new Request(this, List.of(name), READERS_MAX, "read");
    }

    /** A read-write lock, alone. */
    public Request writer(String name) {
        return new Request(this, List.of(name), 0, "write");
    }

    /** What is to be acquired. */
    public static final class Request {
        private final Pawl client;
        private final List<String> names;
        private final int seats; // that the name may have; 0: the lock is the name's alone
        private final String mode; // of a read-write lock; null: it is none
        private long delayMs;
        private long ttlMs; // 0: the fleet's default
        private long waitMs = FOREVER;
        private String owner;
        private boolean takesNewGrant;
        private long noticeMs = -1;
        private Consumer<Held> onWait;
        private Consumer<Lock> onStop;

        Request(Pawl client, List<String> names, int seats, String mode) {
            require(names.size() >= 1 && names.size() <= NAMES_MAX, "a lock must have 1 to %d names", NAMES_MAX);
            names.forEach(Pawl::checkName);
            require(new HashSet<>(names).size() == names.size(), "a name is given twice");
            this.client = client;
            this.names = names;
            this.seats = seats;
            this.mode = mode;
        }

        /** What the names are, in paths of calls that acquire. */
        private String kind() {
            return mode != null ? "rwlocks" : seats > 0 ? "semaphores" : "locks";
        }

        /** The lease; the fleet's default without it. */
        public Request ttl(Duration lease) {
            require(lease.toMillis() > 0, "ttl must be a millisecond or more");
            ttlMs = lease.toMillis();
            return this;
        }

        /**
         * How long others stay out after a lease that ends by itself. A release lets them in at once. The delay and the ttl
         * together are at most the fleet's longest lease.
         */
        public Request delay(Duration pause) {
            require(!pause.isNegative(), "the delay must not be negative");
            delayMs = pause.toMillis();
            return this;
        }

        /** How long to wait where another one holds the lock; without end by default. */
        public Request waitFor(Duration longest) {
            require(!longest.isNegative(), "the wait must not be negative");
            waitMs = Math.min(longest.toMillis(), FOREVER);
            return this;
        }

        /** Does not wait where another one holds the lock. */
        public Request noWait() {
            return waitFor(Duration.ZERO);
        }

        /** A label that others see. */
        public Request owner(String label) {
            require(StandardCharsets.UTF_8.newEncoder().canEncode(label)
                    && label.getBytes(StandardCharsets.UTF_8).length <= OWNER_MAX,
                    "owner must have at most %d bytes", OWNER_MAX);
            owner = label;
            return this;
        }

        /** Called at most once, before the wait begins. */
        public Request onWait(Consumer<Held> call) {
            onWait = call;
            return this;
        }

        /**
         * Where an extension is a new grant, the lock takes its token and goes on. The holder has to read token() again,
         * and again what its work depends on. Without it, the lock is lost.
         */
        public Request takeNewGrant() {
            takesNewGrant = true;
            return this;
        }

        /** For hold(): as Lock.renew(notice, onStop). */
        public Request onStop(Duration notice, Consumer<Lock> call) {
            noticeMs = notice.toMillis();
            onStop = call;
            return this;
        }

        /** For hold(): called where the lock will not be extended any more, a sixth of the lease before its deadline. */
        public Request onStop(Consumer<Lock> call) {
            onStop = call;
            return this;
        }

        /**
         * Acquires. Nothing extends the lock until Lock.renew() is called.
         *
         * <p>It repeats where an answer is lost, under the same lock id, so that no lock is left behind that nobody knows
         * of. Where no server answers from the start on, it throws Unavailable after the call timeout. Where the thread is
         * interrupted, it releases what it may have been granted, within the call timeout. A thread that would wait for a
         * lock that it acquired itself, with the same servers, is Refused.
         *
         * <p>Throws Held, Unavailable, Refused, Invalid, Protocol.
         */
        public Lock acquire() throws InterruptedException {
            try {
                OWN.get().removeIf(own -> !own.isHeld());
                checkOwn();
                long untilMs = steadyMs() + waitMs;
                for (;;) { // again only where an answer came after its own validity had ended
                    Lock lock = new Acquisition(this, untilMs).run();
                    if (lock.isHeld()) {
                        OWN.get().add(lock);
                        return lock;
                    }
                    if (steadyMs() >= untilMs)
                        throw new Unavailable("its validity had ended when the answer came");
                }
            } catch (PawlException failed) {
                throw failed.about("acquire", names);
            }
        }

        /** Acquires, and extends in the background until the lock is closed or lost. */
        public Lock hold() throws InterruptedException {
            Lock lock = acquire();
            try {
                lock.renew(Duration.ofMillis(noticeMs < 0 ? lock.ttlMs / 6 : noticeMs), onStop);
                return lock;
            } catch (RuntimeException failed) {
                lock.end();
                throw failed;
            }
        }

        private void checkOwn() {
            for (Lock own : OWN.get())
                for (String name : names)
                    if (waitMs > 0 && own.names.contains(name) && own.client.urls.equals(client.urls)) {
                        PawlException nested = new Refused("this thread already holds " + name + " and would wait for "
                                + "itself: release the lock first, or use noWait()").named(name);
                        nested.type = "nested";
                        throw nested;
                    }
        }
    }

    /** The locks that this thread acquired. */
    private static final ThreadLocal<List<Lock>> OWN = ThreadLocal.withInitial(ArrayList::new);

    /* ---- acquiring ---- */

    /**
     * A call that waits at a server: attempts, until one ends it or its time is over. A server that answered before is
     * waited for until the end of the wait. No answer from the start on: only for a call's timeout.
     */
    private static class Waiting {
        final Pawl client;
        final long untilMs; // the end of the wait
        boolean isTold; // the next attempt waits
        boolean isAnswered; // a pawld or its gateway did: then it is worth to wait for it
        final Patience patience;
        private final long firstMs;
        private long askedMs; // when the last attempt began
        private long waitsMs; // what it was to wait

        Waiting(Pawl client, long untilMs) {
            this.client = client;
            this.untilMs = untilMs;
            isTold = client.servers.size() == 1;
            firstMs = steadyMs() + client.callTimeoutMs;
            patience = new Patience(firstMs);
        }

        /** The first attempt waits for nothing where it is not known which of several servers answers. */
        long leftMs(long stepMs) {
            return isTold ? Math.min(Math.max(untilMs - steadyMs(), 0), stepMs) : 0;
        }

        /** Whether the last attempt waited at a pawld. What ends such a wait is a gateway that cuts it. */
        boolean didWait() {
            return waitsMs > 0 && steadyMs() - askedMs >= CUT_LEAST_MS;
        }

        Answer ask(Call call, long waitMs) throws InterruptedException {
            askedMs = steadyMs();
            waitsMs = waitMs;
            try {
                Answer answer = client.ask(call, waitMs + client.callTimeoutMs / client.servers.size());
                isAnswered = true;
                return answer;
            } catch (Protocol page) {
                if (!((PawlException) page).foreign || !isAnswered && !didWait())
                    throw page;
                isAnswered = true;
                Unavailable gateway = new Unavailable(page.getMessage());
                ((PawlException) gateway).reached = true;
                throw gateway;
            } catch (Unavailable failed) {
                PawlException how = failed;
                boolean hasAnswer = how.reached && (!how.type.isEmpty() || how.foreign);
                isAnswered = isAnswered || hasAnswer || how.cut && didWait();
                throw failed;
            } catch (PawlException told) {
                isAnswered = true;
                throw told;
            }
        }

        /**
         * Pauses before the next attempt. False: there is none. A wait that a gateway cut at its very end is followed by
         * one more attempt, which says how the lock is.
         */
        boolean goesOn() throws InterruptedException {
            boolean did = didWait();
            if (did)
                patience.nextMs = 0; // it was no hot loop, and its place is kept for a moment
            if (isAnswered && untilMs > firstMs)
                patience.untilMs = untilMs;
            return patience.pause() || did && isAnswered;
        }
    }

    /** Attempts under one lock id, until one is granted or the time is over. */
    private static final class Acquisition extends Waiting {
        private static final SecureRandom RANDOM = new SecureRandom();
        private final Request request;
        private final String lockId;
        private final long beganMs = steadyMs();
        private boolean isInDoubt; // an attempt may have left the lock behind

        Acquisition(Request request, long untilMs) {
            super(request.client, untilMs);
            this.request = request;
            byte[] bytes = new byte[LOCK_ID_BYTES];
            RANDOM.nextBytes(bytes);
            lockId = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
            isTold = isTold && request.onWait == null; // the first attempt finds out who is in the way
        }

        private Call call(long waitMs) {
            Request r = request;
            boolean isGroup = r.names.size() > 1;
            boolean isSemaphore = r.seats > 0 && r.mode == null;
            String path = isGroup ? "/v1/locks" : pathOf(r.kind(), r.names.get(0));
            return new Call("POST", path, body("lock_id", lockId, "wait_ms", waitMs, "ttl_ms", r.ttlMs > 0 ? r.ttlMs : null,
                    "delay_ms", r.delayMs > 0 ? r.delayMs : null, "owner", r.owner, "permits", isSemaphore ? r.seats : null,
                    "mode", r.mode, "resources", isGroup ? r.names : null)).with("Waited-Ms", steadyMs() - beganMs);
        }

        private Answer attempt() throws InterruptedException {
            long waitMs = leftMs(WAIT_STEP_MS);
            try {
                Answer answer = ask(call(waitMs), waitMs);
                if (answer.status != 200 && answer.status != 201)
                    throw answer.failure();
                isInDoubt = true; // until the answer is understood, and its lock is somebody's
                return answer;
            } catch (Unavailable | Protocol failed) {
                isInDoubt = isInDoubt || failed.reached;
                throw failed;
            } catch (InterruptedException interrupted) {
                isInDoubt = true;
                throw interrupted;
            }
        }

        private Answer attempts() throws InterruptedException {
            for (;;) {
                try {
                    return attempt();
                } catch (Held held) {
                    if (steadyMs() >= untilMs)
                        throw held;
                    patience.nextMs = PAUSE_LEAST_MS;
                    if (!isTold) {
                        isTold = true;
                        if (request.onWait != null)
                            request.onWait.accept(held);
                        continue;
                    }
                    if (!goesOn())
                        throw held;
                } catch (Unavailable failed) {
                    if (!goesOn())
                        throw failed;
                }
            }
        }

        Lock run() throws InterruptedException {
            boolean isDone = false;
            try {
                Lock lock = new Lock(request, lockId, attempts());
                isDone = lock.isHeld();
                return lock;
            } finally {
                if (!isDone && isInDoubt)
                    cleanUp();
            }
        }

        /**
         * Nobody else knows the lock id: releases what an attempt may have left behind. Of a semaphore, any seat. A
         * read-write lock is released by its name, whichever seat a reader has.
         */
        private void cleanUp() {
            List<String> names = new ArrayList<>(request.names);
            if (request.kind().equals("semaphores")) {
                names.clear();
                for (int seat = 0; seat < request.seats; seat++)
                    names.add(request.names.get(0) + "#" + seat);
            }
            String kind = request.mode == null ? "locks" : "rwlocks";
            try {
                uninterrupted(() -> client.release(names, lockId, steadyMs() + client.callTimeoutMs, kind, 0));
            } catch (PawlException failed) {
                // the lease ends by itself
            }
        }
    }

    /* ---- several names ---- */

    /**
     * Asks about all names in one request. Returns an answer for each name that succeeded; null: the name is to be asked
     * for by itself.
     */
    private Answer[] askGroup(Call call, int count, long untilMs) throws InterruptedException {
        Answer[] answers = new Answer[count];
        if (count < 2 || isOneByOne)
            return answers;
        Answer answer;
        try {
            answer = ask(call, Math.min(untilMs - steadyMs(), callTimeoutMs / (servers.size() + 1)));
        } catch (PawlException failed) {
            if (!failed.foreign && (failed.status == 404 || failed.status == 405))
                isOneByOne = true; // a pawld that is older than the request, and not a gateway
            return answers;
        }
        Object responses = answer.json.get("responses");
        if (answer.status != 200 || !(responses instanceof List) || ((List<?>) responses).size() != count)
            return answers;
        for (int i = 0; i < count; i++) {
            Object response = ((List<?>) responses).get(i);
            Map<?, ?> members = response instanceof Map ? (Map<?, ?>) response : Map.of();
            Object status = members.get("status");
            boolean isFine = Long.valueOf(200).equals(status) || Long.valueOf(201).equals(status);
            if (isFine && members.get("body") instanceof Map)
                answers[i] = answer.part(((Long) status).intValue(), (Map<?, ?>) members.get("body"));
        }
        return answers;
    }

    private boolean release(List<String> names, String lockId, long untilMs, String kind, long keepMs)
            throws InterruptedException {
        Call all = new Call("DELETE", "/v1/locks", body("resources", names, "keep_ms", keepMs > 0 ? keepMs : null))
                .with("Lock-Id", lockId);
        String query = keepMs > 0 ? "?keep_ms=" + keepMs : "";
        Answer[] answers = askGroup(all, names.size(), untilMs);
        boolean isReleased = true;
        PawlException last = null;
        for (int i = 0; i < names.size(); i++) {
            try {
                Call one = new Call("DELETE", pathOf(kind, names.get(i)) + query, null).with("Lock-Id", lockId);
                Answer answer = answers[i] != null ? answers[i] : askUntil(one, untilMs);
                isReleased = isReleased && Boolean.TRUE.equals(answer.json.get("released"));
            } catch (PawlException failed) {
                last = failed.about("release", List.of(names.get(i)));
            }
        }
        if (last != null)
            throw last;
        return isReleased;
    }

    /* ---- the lock ---- */

    /** A lock that was acquired. Whether it is held is judged by the clock whenever that is asked. */
    public static final class Lock implements AutoCloseable {
        private final Pawl client;
        private final List<String> names;
        private final String lockId;
        private final long ttlMs;
        private final String kind; // in paths: the lock of a writer has no other name
        private final int seat;
        private final boolean takesNewGrant;
        private final Semaphore calls = new Semaphore(1); // one call at a time
        // What follows is guarded by the monitor of the lock, which is never held during a call.
        private final long[] tokens;
        private final Deadline[] deadlines;
        private boolean isLost;
        private boolean isReleased;
        private boolean mustStop;
        private boolean isRenewed;
        private PawlException reason;

        Lock(Request request, String lockId, Answer answer) {
            client = request.client;
            this.lockId = lockId;
            takesNewGrant = request.takesNewGrant;
            ttlMs = answer.integer("ttl_ms", 1, request.ttlMs > 0 ? request.ttlMs : TTL_MAX_MS);
            Deadline deadline = answer.until(ttlMs);
            kind = "write".equals(request.mode) ? "rwlocks" : "locks";
            seat = request.seats > 0 ? seatOf(request, answer) : -1;
            names = seat < 0 ? request.names : List.of(request.names.get(0) + "#" + seat);
            answer.check(lockId, names);
            tokens = new long[names.size()];
            deadlines = new Deadline[names.size()];
            Arrays.fill(deadlines, deadline);
            for (int i = 0; i < tokens.length; i++)
                tokens[i] = answer.integer(tokens.length == 1 ? answer.json : grantOf(answer, names.get(i)), "token", 1,
                        TOKEN_MAX);
        }

        private static int seatOf(Request request, Answer answer) {
            for (int seat = 0; seat < request.seats; seat++)
                if ((request.names.get(0) + "#" + seat).equals(answer.text("resource")))
                    return seat;
            throw new Protocol(answer.server + " granted a seat without a valid index");
        }

        private static Map<?, ?> grantOf(Answer answer, String name) {
            Object grants = answer.json.get("grants");
            for (Object grant : grants instanceof List ? (List<?>) grants : List.of())
                if (grant instanceof Map && name.equals(((Map<?, ?>) grant).get("resource")))
                    return (Map<?, ?>) grant;
            return Map.of();
        }

        public List<String> names() {
            return names;
        }

        /** The secret under which the lock is held. */
        public String lockId() {
            return lockId;
        }

        /** The lease as it was acquired. */
        public Duration ttl() {
            return Duration.ofMillis(ttlMs);
        }

        /** The index of the seat of a semaphore, or of a reader; -1: there is none. */
        public int seat() {
            return seat;
        }

        /** The fencing token of a lock with one name. */
        public synchronized long token() {
            require(tokens.length == 1, "a lock of several names has a token for each: see tokens()");
            return tokens[0];
        }

        /** The fencing token of each name. */
        public synchronized Map<String, Long> tokens() {
            Map<String, Long> all = new LinkedHashMap<>();
            for (int i = 0; i < tokens.length; i++)
                all.put(names.get(i), tokens[i]);
            return all;
        }

        /** The time until the deadline; zero: it passed, or the lock is lost or released. */
        public Duration left() {
            return Duration.ofMillis(leftMs());
        }

        private synchronized long leftMs() {
            if (isLost || isReleased)
                return 0;
            long leftMs = untilDeadlineMs();
            isLost = leftMs == 0; // once it was not held, it never is again
            return leftMs;
        }

        private synchronized long untilDeadlineMs() {
            Moment now = new Moment();
            long leftMs = Long.MAX_VALUE;
            for (Deadline deadline : deadlines)
                leftMs = Math.min(leftMs, deadline.leftMs(now));
            return leftMs;
        }

        /** Whether the lock is held now, by the clock. */
        public boolean isHeld() {
            return leftMs() > 0;
        }

        /** Whether the lock, which is renewed, will not be extended any more: stop before left() is zero. */
        public synchronized boolean mustStop() {
            return mustStop;
        }

        /** Waits until mustStop(). False: the lock was released before. */
        public synchronized boolean awaitStop() throws InterruptedException {
            while (!mustStop && !isReleased)
                wait();
            return mustStop;
        }

        /** What ended the lock; null: nothing did. */
        public synchronized PawlException reason() {
            return reason;
        }

        /** Throws Lost unless the lock is held now. */
        public synchronized void check() {
            if (leftMs() == 0)
                throw why();
        }

        private synchronized Lost why() {
            if (reason instanceof Lost)
                return (Lost) reason;
            String all = String.join(", ", names);
            String said = isReleased ? "the lock " + all + " was released"
                    : "the validity of the lock " + all + " has ended" + (reason == null ? "" : ": " + reason.getMessage());
            return (Lost) new Lost(said).named(names.get(0));
        }

        /** As extend(), by the lease. */
        public void extend() {
            extend(ttl());
        }

        /**
         * Extends all names by ttl from now on. Takes no longer than the call timeout, and not past the deadline.
         *
         * <p>Throws Lost where the lock is lost, or its deadline passes without an answer. Throws NewGrant where it was
         * acquired again, unless Request.takeNewGrant() was set. The deadline stands after Unavailable, Exhausted, Refused
         * and Protocol.
         */
        public void extend(Duration ttl) {
            require(ttl.toMillis() > 0, "ttl must be a millisecond or more");
            calls.acquireUninterruptibly();
            try {
                long untilMs = steadyMs() + client.callTimeoutMs;
                uninterrupted(() -> {
                    extend(ttl.toMillis(), untilMs);
                    return null;
                });
            } finally {
                calls.release();
            }
        }

        private void extend(long extendMs, long callUntilMs) throws InterruptedException {
            check();
            // Two steps of the clock later the deadline has passed on both clocks.
            long untilMs = Math.min(callUntilMs, steadyMs() + leftMs() + 2 * Moment.STEP_MS);
            Call all = new Call("PATCH", "/v1/locks", body("resources", names, "tokens", new ArrayList<>(tokens().values()),
                    "ttl_ms", extendMs)).with("Lock-Id", lockId);
            Answer[] answers = client.askGroup(all, names.size(), untilMs);
            for (int i = 0; i < names.size(); i++) {
                check();
                try {
                    extendName(i, answers[i], extendMs, untilMs);
                } catch (Lost lost) {
                    lose(lost);
                    throw lost;
                } catch (PawlException failed) {
                    if (failed instanceof Unavailable)
                        check();
                    throw failed.about("extend", List.of(names.get(i)));
                }
            }
        }

        private void extendName(int at, Answer given, long extendMs, long untilMs) throws InterruptedException {
            String name = names.get(at);
            Answer answer = given;
            if (answer == null) {
                Call one = new Call("PATCH", pathOf(kind, name), body("ttl_ms", extendMs)).with("Lock-Id", lockId)
                        .with("Fencing-Token", tokens().get(name));
                answer = client.askUntil(one, untilMs);
            }
            answer.check(lockId, List.of(name));
            Deadline deadline = answer.until(extendMs);
            boolean isNew = answer.status == 201;
            long token = isNew ? answer.integer("token", tokens().get(name), TOKEN_MAX) : 0;
            synchronized (this) {
                check(); // an answer that comes too late mends nothing: the holder was told that the lock had ended
                if (isNew && !takesNewGrant)
                    throw (NewGrant) new NewGrant("the lock " + name + " was acquired again, and another caller may have held "
                            + "it in between", token).named(name);
                if (isNew)
                    tokens[at] = token;
                deadlines[at] = deadline;
                notifyAll();
            }
        }

        private synchronized void lose(Lost lost) {
            isLost = true;
            if (reason == null)
                reason = lost;
            notifyAll();
        }

        /**
         * Releases all names. The lock is not held from the start of this call on. Takes the call timeout at most, and half
         * a second where the validity has ended.
         *
         * <p>Returns whether the lock was held until now. Throws Unavailable where that is not known: safe to repeat, and
         * the lease ends by itself.
         */
        public boolean release() {
            return release(Duration.ZERO);
        }

        /**
         * As release(), and others stay out for keep, but no longer than the lock had left. So work that was quick keeps
         * its slot.
         */
        public boolean release(Duration keep) {
            require(!keep.isNegative(), "the keep must not be negative");
            long untilMs = steadyMs() + client.callTimeoutMs;
            synchronized (this) {
                if (!isReleased) // there is nothing to wait for once the lease is over
                    untilMs = Math.min(untilMs, steadyMs() + untilDeadlineMs() + LATE_MS);
                isReleased = true;
                notifyAll();
            }
            long endMs = untilMs;
            return uninterrupted(() -> {
                // A release beside an extension may leave the lock.
                if (!calls.tryAcquire(Math.max(endMs - steadyMs(), 0), TimeUnit.MILLISECONDS))
                    throw new Unavailable("an extension is still under way").about("release", names);
                try {
                    return client.release(names, lockId, endMs, kind, keep.toMillis());
                } finally {
                    calls.release();
                }
            });
        }

        /**
         * Releases the lock, if that was not done. A release that fails is not told: the lease ends by itself. Throws Lost
         * where the lock was not held until now.
         */
        @Override
        public void close() {
            Lost lost;
            synchronized (this) {
                if (isReleased)
                    return;
                lost = leftMs() == 0 ? why() : null;
            }
            end();
            if (lost != null)
                throw lost;
        }

        private void end() {
            try {
                release();
            } catch (PawlException failed) {
                // the lease ends by itself
            }
        }

        /** As renew(notice, onStop), with a sixth of the lease and no function. */
        public void renew() {
            renew(Duration.ofMillis(ttlMs / 6), null);
        }

        /**
         * Starts to extend in the background, each time a third of the lease has passed, until the lock is released or
         * mustStop() is true. That comes at once where the lock is lost, and notice before the deadline where the lock
         * could not be extended; half of the lease at most. Then onStop is called in a background thread; null: nothing is.
         */
        public synchronized void renew(Duration notice, Consumer<Lock> onStop) {
            require(!notice.isNegative() && notice.toMillis() <= ttlMs / 2, "the notice must be 0 to %d ms here, half of the "
                    + "lease", ttlMs / 2);
            require(!isRenewed, "the lock is already being extended");
            isRenewed = true;
            Renewer renewer = new Renewer(this, notice.toMillis(), onStop);
            daemon("pawl-watcher " + names.get(0), renewer::watch).start();
            daemon("pawl-renewer " + names.get(0), renewer::extend).start();
        }
    }

    /**
     * Extends a lock until it is released, or must stop. One thread makes the calls. The other one makes none, and watches
     * the time.
     */
    private static final class Renewer {
        private final Lock lock;
        private final long noticeMs;
        private final Consumer<Lock> onStop;

        Renewer(Lock lock, long noticeMs, Consumer<Lock> onStop) {
            this.lock = lock;
            this.noticeMs = noticeMs;
            this.onStop = onStop;
        }

        void watch() {
            if (sleepUntilLeft(noticeMs))
                tell(new Unavailable("it could not be extended in time"));
        }

        void extend() {
            while (sleepUntilLeft(Math.max(lock.ttlMs * 2 / 3, noticeMs))) {
                lock.calls.acquireUninterruptibly();
                try {
                    long leftMs = lock.leftMs();
                    if (leftMs <= noticeMs)
                        return; // the other thread tells
                    lock.extend(lock.ttlMs, steadyMs() + Math.min(leftMs - noticeMs, lock.client.callTimeoutMs));
                } catch (Unavailable failed) {
                    pause();
                } catch (PawlException failed) {
                    tell(failed);
                    return;
                } catch (InterruptedException ended) {
                    return; // no program has this thread; the other one tells
                } finally {
                    lock.calls.release();
                }
            }
        }

        private static void pause() {
            try {
                Thread.sleep(PAUSE_LEAST_MS);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }

        /** Sleeps until so much is left, also where the deadline is moved or the lock is lost. False: it is over. */
        private boolean sleepUntilLeft(long ms) {
            synchronized (lock) {
                while (!lock.isReleased && !lock.mustStop) {
                    long napMs = lock.leftMs() - ms;
                    if (napMs <= 0)
                        return true;
                    try {
                        lock.wait(Math.min(napMs, NAP_MOST_MS));
                    } catch (InterruptedException ended) {
                        return false;
                    }
                }
                return false;
            }
        }

        private void tell(PawlException why) {
            synchronized (lock) {
                if (lock.isReleased || lock.mustStop)
                    return;
                if (lock.reason == null)
                    lock.reason = why;
                lock.mustStop = true;
                lock.notifyAll();
            }
            if (onStop != null)
                onStop.accept(lock);
        }
    }

    /* ---- watching ---- */

    /** How a lock is: the token of the grant that has the lock, and its holder's label. */
    public static final class State {
        private final boolean isHeld;
        private final long token;
        private final String owner;

        State(boolean isHeld, long token, String owner) {
            this.isHeld = isHeld;
            this.token = token;
            this.owner = owner;
        }

        public boolean isHeld() {
            return isHeld;
        }

        /** 0: nobody holds the lock, or (of inspect()) the masters differ on the token. */
        public long token() {
            return token;
        }

        /** "": none. */
        public String owner() {
            return owner;
        }

        /** Held with the token 0: the masters differ on the token, as a grant is on its way, or ended halfway. */
        static State of(Answer answer, String name) {
            Object held = answer.json.get("held");
            if (answer.status != 200 || !(held instanceof Boolean))
                throw new Protocol(answer.server + " reported a lock without a valid holder");
            answer.checkMember("resource", List.of(name));
            if (!(Boolean) held)
                return new State(false, 0, "");
            if (answer.json.get("token") == Json.NULL)
                return new State(true, 0, "");
            String owner = answer.text("owner");
            return new State(true, answer.integer("token", 1, TOKEN_MAX), owner == null ? "" : owner);
        }
    }

    /** How a lock is now. */
    public State inspect(String name) {
        checkName(name);
        return about("inspect", name, () -> State.of(askUntil(new Call("GET", pathOf("locks", name), null),
                steadyMs() + callTimeoutMs), name));
    }

    private static <T> T about(String verb, String name, Work<T> work) {
        try {
            return uninterrupted(work);
        } catch (PawlException failed) {
            throw failed.about(verb, List.of(name));
        }
    }

    /** As watch(name, wait), without end. */
    public Watch watch(String name) {
        return new Watch(this, name, FOREVER);
    }

    /**
     * Watches a lock without taking it. The first state is how the lock is, and the next ones come as soon as it changes.
     * wait is how long to watch; zero: the state now, and no more.
     *
     * <p>Only the last change is told where several came at once. A lock that was released and is held again has a higher
     * token. The holder may be gone when its state is told: a resource that checks tokens tells for sure.
     */
    public Watch watch(String name, Duration wait) {
        require(!wait.isNegative(), "the wait must not be negative");
        return new Watch(this, name, Math.min(wait.toMillis(), FOREVER));
    }

    /** The states of a lock, one after the other. One thread at a time may ask. */
    public static final class Watch {
        private final Pawl client;
        private final String name;
        private final long untilMs;
        private State known;

        Watch(Pawl client, String name, long waitMs) {
            checkName(name);
            this.client = client;
            this.name = name;
            untilMs = steadyMs() + waitMs;
        }

        /**
         * Waits for the next state; null: the time of the watch is over. Once a server has answered, failures of servers
         * and gateways end no watch. After Unavailable it may be called again.
         */
        public State next() throws InterruptedException {
            try {
                State state = look();
                known = state == null ? known : state;
                return state;
            } catch (PawlException failed) {
                throw failed.about("watch", List.of(name));
            }
        }

        private Call call(long waitMs) {
            String path = pathOf("locks", name);
            if (known != null)
                path += "?unless=" + (known.isHeld ? known.token : "free") + "&wait_ms=" + waitMs;
            return new Call("GET", path, null);
        }

        /**
         * The first state that is not known; null: the time is over. A server that answers sooner than it was asked to, and
         * with nothing new, is asked again after a pause, as one that fails.
         */
        private State look() throws InterruptedException {
            Waiting waiting = new Waiting(client, untilMs);
            waiting.isAnswered = known != null;
            for (;;) {
                boolean wasTold = waiting.isTold;
                long waitMs = known == null ? 0 : waiting.leftMs(WATCH_STEP_MS);
                Unavailable failure = null;
                try {
                    State state = State.of(waiting.ask(call(waitMs), waitMs), name);
                    waiting.isTold = true;
                    boolean isClear = !state.isHeld || state.token > 0;
                    if (isClear && (known == null || state.token != known.token))
                        return state;
                    if (steadyMs() >= untilMs)
                        return null;
                    if (known != null && !wasTold)
                        continue; // it did not wait: the next one does
                } catch (Unavailable failed) {
                    failure = failed;
                }
                if (waiting.goesOn())
                    continue;
                if (failure == null)
                    return null;
                throw failure;
            }
        }
    }

    /* ---- counters ---- */

    /**
     * Takes the next count values of a named counter, and returns the last one; the others are right below it. Where an
     * answer is lost it asks again, and the values of the lost one are nobody's.
     */
    public long nextValue(String counter, long count) {
        checkName(counter);
        return about("count", counter, () -> askUntil(new Call("POST", pathOf("counters", counter), body("count", count)),
                steadyMs() + callTimeoutMs).checkMember("name", List.of(counter)).integer("value", count, TOKEN_MAX));
    }

    /** The last value of a named counter; takes none. Throws Refused where it was never counted. */
    public long lastValue(String counter) {
        checkName(counter);
        return about("read", counter, () -> askUntil(new Call("GET", pathOf("counters", counter), null),
                steadyMs() + callTimeoutMs).checkMember("name", List.of(counter)).integer("value", 0, TOKEN_MAX));
    }
}
