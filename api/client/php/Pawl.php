<?php

declare(strict_types=1);

/*
 * A client of Pawl: locks with fencing tokens, over HTTP. One file for PHP 8.2, without packages.
 *
 *     $client = new Pawl\Client();                       // the servers of PAWL_SERVER
 *     $client->lock('orders/42', function (Pawl\Lock $lock) {
 *         writeGuarded($lock->token());                  // the data refuses an older token
 *         $lock->check();                                // throws Lost if the lock is no longer held
 *     }, ttl: 30);
 *
 * PHP HAS NO THREADS: NOTHING EXTENDS A LOCK IN THE BACKGROUND. Take a ttl that is longer than the work, or call
 * Lock::extend() between two steps. Lock::check() and Lock::left() tell whether the lock is still held.
 *
 * Times are seconds, and may be fractions. A deadline is the time that the request was sent, plus the answer's
 * served_ms and validity_ms. hrtime() stands still while Linux is suspended; /proc/uptime counts suspension, in steps of
 * 10 ms. The clock that went further counts, and one step is taken off. Where /proc/uptime cannot be read, a tenth of
 * each validity is taken off. So Lock::held() is right however late an answer came, and after a process was stopped.
 *
 * A holder that is stopped past its deadline still believes that it holds the lock, until it asks again. No client can
 * prevent that. Send the token along with every write, and check the token where the write lands.
 *
 * A call waits for a lock without end, unless `wait` says how long. No proxy is ever used. Answers of a gateway (502,
 * 503, 504, 408, a page of HTML) and connections that a gateway cuts end no wait.
 *
 * Forks: a client and a lock belong to the process that made them. In a child of pcntl_fork() no lock is held, and each
 * call throws Forked. The child sends nothing, and its end releases nothing. Make a new client there.
 */

namespace Pawl;

const SERVER_DEFAULT = 'http://127.0.0.1:7380';
const SOCKET_DEFAULT = 'unix:/run/pawl/pawld.sock'; // asked first, where this process may connect to it

/** @internal */
final class Limit
{
    public const SERVERS = 8;
    public const NAMES = 64; // that one lock can have
    public const PERMITS = 64; // of a semaphore
    public const READERS = 63; // seats that a fleet may have for a read-write lock
    public const NAME = 255; // bytes of a name
    public const OWNER = 128; // bytes of a label
    public const KEY = 127;
    public const SOCKET_PATH = 107;
    public const HEAD = 64 << 10;
    public const BODY = 4 << 20; // bytes of an answer
    public const DEPTH = 256; // of an answer
    public const TOKEN = (1 << 53) - 1;
    public const TTL = 24 * 3600.0; // no fleet allows a longer lease
    public const TIME = 1e9;
    public const CALL = 600.0;
    public const CONNECT = 2.0;
    public const WAIT_STEP = 60.0; // what one request waits at most: a stopped server is noticed then
    public const WATCH_STEP = 50.0; // of a watch; proxies cut after 60 s, commonly
    public const PAUSE_LEAST = 0.05; // between two attempts, doubled each time
    public const PAUSE_MOST = 1.0;
    public const CUT_LEAST = 0.5; // a request that waited so long reached a pawld or a gateway
    public const LATE = 0.5; // to release a lock whose validity has ended
    public const SERVED_SLACK = 1.0; // two clocks, and their steps
}

/* ---- errors ---- */

/** What all exceptions of this client are. */
class PawlException extends \RuntimeException
{
    /** The name of the lock; null: not known. */
    public ?string $name = null;
    /** The type of the server's problem, such as "no-quorum"; "": there is none. */
    public string $type = '';

    /** @internal */
    final public function __construct(string $message, string $type = '', ?string $name = null)
    {
        parent::__construct(Text::plain($message));
        $this->type = $type;
        $this->name = $name;
    }

    /** @internal Adds that the names could not be acquired, say. */
    public function about(string $verb, array $names): static
    {
        if ($this->name === null) {
            $more = count($names) > 1 ? ' and ' . (count($names) - 1) . ' more' : '';
            $this->message = Text::plain("cannot $verb $names[0]$more: $this->message");
            $this->name = $names[0];
        }
        return $this;
    }
}

/** Another caller holds the lock, and held it until the wait ended: try later. */
class Held extends PawlException
{
    /** The label of the holder; null: not known. */
    public ?string $owner = null;
    /** The seconds until the holder's lease ends, unless it is extended; null: not known. */
    public ?float $retryAfter = null;
}

/** The lock is no longer held, or an operator broke it ("lock-broken" is the type): stop the work. */
class Lost extends PawlException
{
}

/** An extension acquired the lock again, and another one may have held it in between. */
class NewGrant extends Lost
{
    /** The new token. */
    public int $token = 0;
}

/** The client or the lock belongs to the process that this one was forked from. Nothing was sent. */
class Forked extends Lost
{
}

/** No server answered, or none has a majority: try later. A held lock stays so until its deadline. */
class Unavailable extends PawlException
{
}

/** The lock has reached its extension limit: acquire it again. It is held until its deadline. */
class Exhausted extends PawlException
{
}

/** Refused, and retrying will not help: read the message. The type is "nested" where the caller holds the lock. */
class Refused extends PawlException
{
}

/** An argument is wrong, or the server says that one is: do not repeat. */
class Invalid extends Refused
{
}

/** The answer did not come from a pawld: check the address. */
class Protocol extends PawlException
{
}

/* ---- text ---- */

/** @internal */
final class Text
{
    private const ODD = '/[\x{00}-\x{1f}\x{7f}-\x{9f}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]/u';

    /**
     * The text, fit for terminals and lines of logs: a server may be anybody's. Each byte of a control character becomes
     * \xNN, also of a change of the direction of writing.
     */
    public static function plain(string $text): string
    {
        $escape = static fn (array $odd): string => preg_replace('/../', '\\x$0', bin2hex($odd[0]));
        $plain = preg_replace_callback(self::ODD, $escape, $text);
        return $plain ?? preg_replace_callback('/[^ -~]/', $escape, $text); // it is no UTF-8
    }

    /** @return string the caller's text, of $least to $most bytes */
    public static function check(string $what, string $text, int $least, int $most): string
    {
        $fits = preg_match('//u', $text) === 1 && strlen($text) >= $least && strlen($text) <= $most;
        self::require($fits, "$what must have $least to $most bytes of UTF-8");
        return $text;
    }

    public static function seconds(string $what, float $value, float $least, float $most): float
    {
        self::require($value >= $least && $value <= $most, "$what is $least to $most seconds, not $value");
        return $value;
    }

    public static function require(bool $right, string $message): void
    {
        if (!$right) {
            throw new Invalid($message);
        }
    }

    public static function ms(float $seconds): int
    {
        return (int) round($seconds * 1000);
    }

    /** Calls, and keeps what PHP warns of from the program's handler of errors. $said: the last warning. */
    public static function quietly(callable $call, ?string &$said = null): mixed
    {
        set_error_handler(static function (int $level, string $text) use (&$said): bool {
            $said = preg_replace('/^\w+\(\): /', '', $text);
            return true;
        });
        try {
            return $call();
        } finally {
            restore_error_handler();
        }
    }
}

/** @internal Reads an answer as JSON with plain strings. All clients refuse the same answers: json_decode() takes more. */
final class Json
{
    private const SPACE = " \t\r\n";
    private const STRING = '/"(?:[^"\\\\\x00-\x1f]++|\\\\(?:["\\\\\/bfnrt]|u[0-9a-fA-F]{4}))*+"/A';
    private const NUMBER = '/-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][-+]?[0-9]++)?/A';
    private int $at = 0;

    private function __construct(private readonly string $text)
    {
    }

    /** The value: stdClass, array, string, int, float, bool or null. Null, too: no answer of a pawld. */
    public static function parse(string $body): mixed
    {
        if (preg_match('//u', $body) !== 1) {
            return null;
        }
        $json = new self($body);
        try {
            $value = $json->value(0);
            return $json->take('') || $json->at < strlen($body) ? null : $value;
        } catch (\UnexpectedValueException) {
            return null;
        }
    }

    private function refuse(): never
    {
        throw new \UnexpectedValueException();
    }

    private function take(string $mark): bool
    {
        $this->at += strspn($this->text, self::SPACE, $this->at);
        $found = $mark !== '' && ($this->text[$this->at] ?? '') === $mark;
        $this->at += (int) $found;
        return $found;
    }

    private function value(int $depth): mixed
    {
        if ($depth > Limit::DEPTH) {
            $this->refuse();
        }
        if ($this->take('{')) {
            return $this->members($depth);
        }
        if ($this->take('[')) {
            return $this->items($depth);
        }
        if (($this->text[$this->at] ?? '') === '"') {
            return Text::plain($this->string());
        }
        foreach (['true' => true, 'false' => false, 'null' => null] as $word => $value) {
            if (substr_compare($this->text, $word, $this->at, strlen($word)) === 0) {
                $this->at += strlen($word);
                return $value;
            }
        }
        return $this->number();
    }

    private function members(int $depth): \stdClass
    {
        $found = new \stdClass();
        if ($this->take('}')) {
            return $found;
        }
        do {
            $this->take('');
            $name = $this->string();
            if (Text::plain($name) !== $name || !$this->take(':')) {
                $this->refuse();
            }
            $found->{$name} = $this->value($depth + 1); // of the same name the last one counts
        } while ($this->take(','));
        return $this->take('}') ? $found : $this->refuse();
    }

    private function items(int $depth): array
    {
        $found = [];
        if ($this->take(']')) {
            return $found;
        }
        do {
            $found[] = $this->value($depth + 1);
        } while ($this->take(','));
        return $this->take(']') ? $found : $this->refuse();
    }

    private function number(): int|float
    {
        if (preg_match(self::NUMBER, $this->text, $parts, 0, $this->at) !== 1) {
            $this->refuse();
        }
        [$number] = $parts;
        $this->at += strlen($number);
        if (count($parts) > 1) {
            $real = (float) $number;
            return is_infinite($real) ? $this->refuse() : $real;
        }
        $integer = (int) $number; // beyond 64 bits it is the nearest one
        return $number === '-0' || (string) $integer === $number ? $integer : $this->refuse();
    }

    /** A string without a NUL, and without half of a surrogate pair. */
    private function string(): string
    {
        if (preg_match(self::STRING, $this->text, $parts, 0, $this->at) !== 1) {
            $this->refuse();
        }
        $this->at += strlen($parts[0]);
        $string = json_decode($parts[0]);
        return is_string($string) && !str_contains($string, "\0") ? $string : $this->refuse();
    }
}

/* ---- clock ---- */

/** @internal A moment on the two clocks, in seconds. */
final class Moment
{
    public const STEP = 0.01; // of /proc/uptime
    private static ?bool $hasBoot = null;
    private readonly float $steady;
    private readonly ?float $boot;

    public function __construct()
    {
        $this->steady = self::steady();
        $this->boot = self::$hasBoot === false ? null : self::readBoot();
        self::$hasBoot ??= $this->boot !== null;
    }

    /** For waits and pauses, where nothing is lost by a suspension. */
    public static function steady(): float
    {
        return hrtime(true) / 1e9;
    }

    private static function readBoot(): ?float
    {
        $text = Text::quietly(static fn () => file_get_contents('/proc/uptime', false, null, 0, 64));
        return is_string($text) && preg_match('/^\d+\.\d\d /', $text) === 1 ? (float) $text : null;
    }

    /** At least the time since this moment. */
    public function elapsed(?Moment $later = null): float
    {
        $later ??= new Moment();
        $steady = $later->steady - $this->steady;
        if (self::$hasBoot === false) {
            return $steady;
        }
        // A clock that cannot be read any more: each deadline has passed, as none can be judged.
        return $this->boot === null || $later->boot === null ? INF
            : max($steady, $later->boot - $this->boot + self::STEP);
    }

    /** The part of a validity that is taken off. */
    public static function margin(): float
    {
        return self::$hasBoot === false ? 0.1 : 0.0;
    }
}

/** @internal */
final class Deadline
{
    public function __construct(private readonly Moment $sent, private readonly float $after)
    {
    }

    public function left(Moment $now): float
    {
        return max($this->after - $this->sent->elapsed($now), 0.0);
    }
}

/** @internal The process that makes an object. */
final class Owner
{
    private readonly int $pid;

    public function __construct()
    {
        $this->pid = (int) getmypid();
    }

    public function isHere(): bool
    {
        return getmypid() === $this->pid;
    }

    public function error(string $what): Forked
    {
        return new Forked("$what belongs to process $this->pid. This process is a fork of it, and holds no lock. "
            . 'Create a new client in this process, and acquire the lock with the new client', 'forked');
    }

    public function check(string $what = 'this client'): void
    {
        if (!$this->isHere()) {
            throw $this->error($what);
        }
    }
}

/* ---- answers ---- */

/** @internal An answer: when its request left, its status, its JSON object, and the type of its problem. */
final class Answer
{
    private const PROBLEMS = [
        'held' => Held::class, 'wait-timeout' => Held::class, 'contended' => Held::class, 'lock-lost' => Lost::class,
        'lock-broken' => Lost::class, 'extensions-exhausted' => Exhausted::class, 'no-quorum' => Unavailable::class,
        'too-slow' => Unavailable::class, 'not-ready' => Unavailable::class, 'no-memory' => Unavailable::class,
        'stopping' => Unavailable::class, 'busy' => Unavailable::class, 'too-many-waiters' => Unavailable::class,
        'request-timeout' => Unavailable::class,
    ];
    public readonly \stdClass $json;
    public readonly string $type;
    public readonly bool $isForeign; // none of a pawld: a gateway answers, or another server

    public function __construct(
        public readonly string $server,
        private readonly Moment $sent,
        private readonly float $took,
        public readonly int $status,
        mixed $value,
    ) {
        $this->json = $value instanceof \stdClass ? $value : new \stdClass();
        $type = $this->text('type') ?? '';
        $this->type = str_starts_with($type, 'urn:pawl:') ? substr($type, strlen('urn:pawl:')) : '';
        $this->isForeign = $this->type === '' && ($status >= 300 || $value === null);
    }

    /** The answer to one of several names; null: it is no success. */
    public function part(mixed $response): ?Answer
    {
        $status = $response instanceof \stdClass ? $response->status ?? null : null;
        $body = $response instanceof \stdClass ? $response->body ?? null : null;
        return in_array($status, [200, 201], true) && $body instanceof \stdClass
            ? new Answer($this->server, $this->sent, $this->took, $status, $body) : null;
    }

    public function text(string $member): ?string
    {
        $value = $this->json->{$member} ?? null;
        return is_string($value) ? $value : null;
    }

    public function integer(string $member, int $least, int $most, ?\stdClass $values = null): int
    {
        $value = ($values ?? $this->json)->{$member} ?? null;
        if (!is_int($value) || $value < $least || $value > $most) {
            throw new Protocol("$this->server returned an invalid $member");
        }
        return $value;
    }

    /** That it is about one of $names under $lockId: a gateway can mix up its callers. */
    public function check(string $lockId, array $names): void
    {
        $this->checkMember('lock_id', [$lockId])->checkMember('resource', $names);
    }

    /** That the member is missing, or one of $texts. */
    public function checkMember(string $member, array $texts): self
    {
        if (property_exists($this->json, $member) && !in_array($this->text($member), $texts, true)) {
            throw new Protocol("$this->server answers about another lock: a gateway between may have mixed up the answers "
                . 'of its callers');
        }
        return $this;
    }

    /** The end of the validity that it grants, of a lease of $ttl seconds. */
    public function deadline(float $ttl): Deadline
    {
        $validity = $this->integer('validity_ms', 0, Text::ms($ttl)) / 1000;
        $served = $this->integer('served_ms', 0, Text::ms($this->took + Limit::SERVED_SLACK)) / 1000;
        return new Deadline($this->sent, (min($served, $this->took) + $validity) * (1 - Moment::margin()));
    }

    /** What a problem means. */
    public function error(): PawlException
    {
        $detail = $this->text('detail');
        if ($this->type === '' || $detail === null) {
            $detail = "$this->server returned an unexpected $this->status: is this a pawld?";
        }
        $name = $this->text('resource') ?: null;
        $kind = self::PROBLEMS[$this->type] ?? $this->kindOfStatus();
        if ($kind === Held::class) {
            return $this->held($detail, $name);
        }
        if ($kind === Lost::class && $name !== null) {
            $by = $this->text('by') ?? 'an operator';
            return new Lost($this->type === 'lock-broken' ? "$name was broken by $by" : "$name is no longer held under this "
                . 'lock id and token: stop the work, and acquire it again', $this->type, $name);
        }
        return new $kind(strtr($detail, ['ttl_ms' => 'ttl (milliseconds)', 'The resource must' => 'A name must']),
            $this->type);
    }

    private function kindOfStatus(): string
    {
        if ($this->status >= 500 || in_array($this->status, [408, 429], true)) { // of a proxy, too
            return Unavailable::class;
        }
        if ($this->type === '') {
            return Protocol::class;
        }
        return $this->status === 400 ? Invalid::class : Refused::class;
    }

    private function held(string $detail, ?string $name): Held
    {
        $after = $this->json->retry_after_ms ?? null;
        $after = is_int($after) && $after >= 0 && $after <= Limit::TOKEN ? $after / 1000 : null;
        $owner = $this->text('owner');
        if ($name !== null && $this->type !== 'contended') {
            $detail = "$name is held by " . ($owner ?: 'another caller');
            $detail .= $after === null ? '' : sprintf(', for %.1F s unless extended', $after);
        }
        $held = new Held($detail, $this->type, $name);
        $held->owner = $owner;
        $held->retryAfter = $after;
        return $held;
    }
}

/* ---- one call ---- */

/** @internal The connection was closed before the answer was whole. */
final class Cut extends \Exception
{
}

/** @internal No answer, for another reason. */
final class NoAnswer extends \Exception
{
}

/** @internal A connection that serves one request, and reads until a time, however slowly the answer trickles. */
final class Connection
{
    /** @var resource */
    private $stream;
    private string $received = '';

    public function __construct(string $address, private readonly float $until, ?array $ssl)
    {
        $options = ['socket' => ['tcp_nodelay' => true]] + ($ssl === null ? [] : ['ssl' => $ssl]);
        if (str_starts_with($address, 'unix:')) {
            $options = [];
        }
        $context = stream_context_create($options);
        $this->stream = $this->connect($address, $context);
        stream_set_blocking($this->stream, false);
        stream_set_read_buffer($this->stream, 0);
        if ($ssl !== null) {
            $this->encrypt($context);
        }
    }

    /** @return resource */
    private function connect(string $address, mixed $context): mixed
    {
        $said = 'it cannot be reached';
        $connect = function (string $to) use ($context, &$said): mixed {
            $timeout = max(min($this->until - Moment::steady(), Limit::CONNECT), 0.001);
            return Text::quietly(static fn () => stream_socket_client($to, $number, $text, $timeout,
                STREAM_CLIENT_CONNECT, $context), $said);
        };
        $stream = $connect($address);
        foreach ($stream === false ? self::addresses($address) : [] as $one) {
            $stream = $stream ?: $connect($one);
        }
        return $stream ?: throw new NoAnswer($said);
    }

    /** The addresses of a name, the last one first: the first one may have had all the time that PHP gives to a name. */
    private static function addresses(string $address): array
    {
        if (preg_match('#^tcp://([^\[\]:]*[^\[\]:0-9.][^\[\]:]*):(\d+)$#', $address, $parts) !== 1) {
            return [];
        }
        $found = Text::quietly(static fn () => gethostbynamel($parts[1])) ?: [];
        return count($found) < 2 ? [] : array_map(static fn ($one) => "tcp://$one:$parts[2]", array_reverse($found));
    }

    private function encrypt(mixed $context): void
    {
        $methods = STREAM_CRYPTO_METHOD_TLSv1_2_CLIENT | STREAM_CRYPTO_METHOD_TLSv1_3_CLIENT;
        $said = 'TLS failed';
        do {
            $done = Text::quietly(fn () => stream_socket_enable_crypto($this->stream, true, $methods), $said);
            if ($done === 0) {
                $this->wait(false);
            }
        } while ($done === 0);
        if ($done === false) {
            throw new NoAnswer($said);
        }
        self::checkChain(stream_context_get_options($context)['ssl']['peer_certificate_chain'] ?? []);
    }

    /** Refuses a server whose certificate was signed by one that is no authority: OpenSSL believes CA:TRUE alone. */
    private static function checkChain(array $chain): void
    {
        foreach (array_slice($chain, 1) as $certificate) {
            $signer = openssl_x509_parse($certificate);
            $usage = $signer['extensions']['keyUsage'] ?? '';
            if ($signer['issuer'] !== $signer['subject'] && !str_contains($usage, 'Certificate Sign')) {
                throw new NoAnswer('its certificate is not trusted: a certificate that is not a CA signed it '
                    . '(server/TLS.md)');
            }
        }
    }

    public function close(): void
    {
        fclose($this->stream);
    }

    private function wait(bool $forWrite): void
    {
        $left = $this->until - Moment::steady();
        if ($left <= 0) {
            throw new NoAnswer('timed out');
        }
        $left = min($left, 1.0); // a signal ends the pause of one look only
        $none = null;
        $some = [$this->stream];
        [$read, $write] = $forWrite ? [null, $some] : [$some, null];
        Text::quietly(static function () use ($read, $write, $none, $left): void {
            stream_select($read, $write, $none, (int) $left, (int) (fmod($left, 1) * 1e6));
        });
    }

    public function write(string $bytes): void
    {
        while ($bytes !== '') {
            $said = 'the connection was closed';
            $count = Text::quietly(fn () => fwrite($this->stream, $bytes), $said);
            if ($count === false) {
                throw new Cut($said);
            }
            $bytes = substr($bytes, $count);
            if ($bytes !== '') {
                $this->wait(true);
            }
        }
    }

    /** False: the connection was closed. */
    private function receive(): bool
    {
        for (;;) {
            $said = null;
            $part = Text::quietly(fn () => fread($this->stream, 65536), $said);
            if (Moment::steady() >= $this->until) {
                throw new NoAnswer('timed out');
            }
            if (is_string($part) && $part !== '') {
                $this->received .= $part;
                return true;
            }
            if (feof($this->stream) || $said !== null) {
                return false;
            }
            $this->wait(false);
        }
    }

    private function take(int $count): string
    {
        if ($count > Limit::BODY) {
            throw new NoAnswer('the answer is too long');
        }
        while (strlen($this->received) < $count) {
            if (!$this->receive()) {
                throw new Cut('the connection was closed in the middle of an answer');
            }
        }
        $taken = substr($this->received, 0, $count);
        $this->received = substr($this->received, $count);
        return $taken;
    }

    private function line(): string
    {
        while (($at = strpos($this->received, "\n")) === false) {
            if (strlen($this->received) > Limit::HEAD) {
                throw new NoAnswer('a line of the answer is too long');
            }
            if (!$this->receive()) {
                throw new Cut('the connection was closed without an answer');
            }
        }
        return rtrim($this->take($at + 1), "\r\n");
    }

    /** @return array{int, string} the status and the body of an answer */
    public function read(): array
    {
        do {
            [$status, $headers] = $this->head();
        } while ($status < 200);
        if (strcasecmp($headers['transfer-encoding'] ?? '', 'chunked') === 0) {
            return [$status, $this->chunks()];
        }
        $length = $headers['content-length'] ?? null;
        if ($length === null) {
            return [$status, $this->rest()];
        }
        if (preg_match('/^\d{1,15}$/D', $length) !== 1) {
            throw new NoAnswer('the length of the answer is not a number');
        }
        return [$status, $this->take((int) $length)];
    }

    private function head(): array
    {
        if (preg_match('/^HTTP\/1\.[01] ([1-9][0-9]{2})(?: .*)?$/sD', $this->line(), $parts) !== 1) {
            throw new NoAnswer('the answer is not HTTP');
        }
        $headers = [];
        $bytes = 0;
        while (($line = $this->line()) !== '') {
            $bytes += strlen($line);
            if ($bytes > Limit::HEAD || !str_contains($line, ':')) {
                throw new NoAnswer('the head of the answer is not HTTP');
            }
            [$name, $value] = explode(':', $line, 2);
            $headers[strtolower(trim($name))] = trim($value);
        }
        return [(int) $parts[1], $headers];
    }

    private function rest(): string
    {
        while ($this->receive()) {
            if (strlen($this->received) > Limit::BODY) {
                throw new NoAnswer('the answer is too long');
            }
        }
        return $this->received;
    }

    private function chunks(): string
    {
        $body = '';
        for (;;) {
            if (preg_match('/^([0-9a-fA-F]{1,7})(?:[; ].*)?$/sD', $this->line(), $parts) !== 1) {
                throw new NoAnswer('a chunk of the answer has no size');
            }
            $size = (int) hexdec($parts[1]);
            if ($size === 0) {
                return $body;
            }
            $body .= $this->take($size);
            if (strlen($body) > Limit::BODY || $this->line() !== '') {
                throw new NoAnswer('a chunk of the answer has another size, or the answer is too long');
            }
        }
    }
}

/**
 * @internal A request. $isReached: it may have reached a server. $isCut: the connection was closed then, without an
 * answer. $answer: what came.
 */
final class Call
{
    public bool $isReached = false;
    public bool $isCut = false;
    public ?Answer $answer = null;

    public function __construct(
        public readonly string $method,
        public readonly string $path,
        public readonly ?array $body = null,
        public readonly array $headers = [],
    ) {
    }

    /** Asks the server once. Throws Unavailable where no answer came in time. */
    public function ask(Server $server, string $key, float $timeout): Answer
    {
        $this->isReached = $this->isCut = false;
        $this->answer = $connection = null;
        $sent = new Moment();
        try {
            $connection = $server->connect(Moment::steady() + $timeout);
            $this->isReached = true;
            $connection->write($server->request($this, $key));
            [$status, $body] = $connection->read();
        } catch (NoAnswer | Cut $failed) {
            $this->isCut = $this->isReached && $failed instanceof Cut;
            throw new Unavailable("$server->url does not answer: {$failed->getMessage()}");
        } finally {
            $connection?->close();
        }
        $took = max($sent->elapsed() - Moment::STEP, 0.0);
        return $this->answer = new Answer($server->url, $sent, $took, $status, Json::parse($body));
    }
}

/** @internal */
final class Server
{
    private const URL = '~^(https?)://(\[[0-9a-f:.]+\]|[^/:\[\]]+)(?::([0-9]*))?(/.*)?$~iD';
    public readonly string $url;
    private readonly string $address;
    private readonly string $authority;
    private readonly string $base;
    private ?array $ssl = null;

    public function __construct(string $url, array $files)
    {
        if (str_starts_with($url, 'unix:')) {
            $this->takeSocket($url, substr($url, strlen('unix:')));
        } else {
            $this->takeUrl($url, $files);
        }
    }

    private function takeSocket(string $url, string $path): void
    {
        Text::require(str_starts_with($path, '/') && $path !== '/', "'$url' has no absolute path; name a socket as "
            . 'unix:/PATH, such as ' . SOCKET_DEFAULT);
        Text::require(strlen($path) <= Limit::SOCKET_PATH && !str_contains($path, "\0"),
            "'$url' is too long: the path of a socket has at most " . Limit::SOCKET_PATH . ' bytes');
        $this->url = $url;
        $this->address = "unix://$path";
        $this->authority = 'localhost';
        $this->base = '';
    }

    private function takeUrl(string $url, array $files): void
    {
        // It may be a password, which no sentence shows.
        Text::require(!str_contains($url, '@'), 'a server URL must have no user and no password; use a key instead');
        Text::require(!str_contains($url, ','), "'$url' has a comma: give each server separately; in PAWL_SERVER put a "
            . 'space between two servers');
        $fits = preg_match(self::URL, $url, $parts) === 1 && preg_match('/^[!-~]+$/D', $url) === 1
            && strpbrk($url, '?#') === false;
        Text::require($fits, "'$url' is not a valid URL of a server, such as " . SERVER_DEFAULT);
        $isSecure = strtolower($parts[1]) === 'https';
        $named = $parts[3] ?? '';
        $hasPort = preg_match('~^\w+://[^/]*:[0-9]*(/|$)~', $url) === 1 && !str_ends_with($parts[0], ']');
        $port = $named === '' && !($hasPort && $parts[2][0] !== '[') ? ($isSecure ? 443 : 80) : (int) $named;
        Text::require($port >= 1 && $port <= 65535, "'$url' has an invalid port: a port must be 1 to 65535");
        $this->url = rtrim($url, '/');
        $this->address = "tcp://$parts[2]:$port";
        $this->authority = $parts[2] . ($named === '' ? '' : ":$port");
        $this->base = rtrim($parts[4] ?? '', '/');
        if ($isSecure) {
            $this->ssl = self::ssl(trim($parts[2], '[]'), ...$files);
        }
    }

    private static function ssl(string $host, string $caFile, string $cert, string $certKey): array
    {
        foreach ([$caFile, $cert, $certKey] as $file) {
            Text::require($file === '' || is_readable($file), "the file $file cannot be read");
        }
        return ['verify_peer' => true, 'verify_peer_name' => true, 'peer_name' => $host, 'disable_compression' => true,
            'capture_peer_cert_chain' => true] + ($caFile === '' ? [] : ['cafile' => $caFile])
            + ($cert === '' ? [] : ['local_cert' => $cert, 'local_pk' => $certKey === '' ? $cert : $certKey]);
    }

    public function connect(float $until): Connection
    {
        return new Connection($this->address, $until, $this->ssl);
    }

    public function request(Call $call, string $key): string
    {
        $body = $call->body === null ? '' : json_encode($call->body, JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR);
        $headers = ['Host' => $this->authority, 'Connection' => 'close', 'Content-Type' => 'application/json',
            'Content-Length' => strlen($body)] + ($key === '' ? [] : ['Authorization' => "Bearer $key"]) + $call->headers;
        $lines = ["$call->method $this->base$call->path HTTP/1.1"];
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        return implode("\r\n", $lines) . "\r\n\r\n$body";
    }
}

/** @internal How long to go on trying, and how long to pause before the next attempt. */
final class Patience
{
    public float $next = Limit::PAUSE_LEAST;

    public function __construct(public float $until)
    {
    }

    /** Pauses before the next attempt. False: the time is over. */
    public function pause(): bool
    {
        $left = $this->until - Moment::steady();
        if ($left <= 0) {
            return false;
        }
        usleep((int) (min($this->next, $left) * 1e6));
        $this->next = $this->next === 0.0 ? Limit::PAUSE_LEAST : min($this->next * 2, Limit::PAUSE_MOST);
        return true;
    }
}

/* ---- client ---- */

/** How a lock is. The token and the owner are those of the grant that has the lock; null: nobody has it. */
final class State
{
    public function __construct(
        public readonly bool $held,
        public readonly ?int $token = null,
        public readonly ?string $owner = null,
    ) {
    }
}

/** The servers of one fleet, tried in turn where one does not answer. */
final class Client
{
    /** @var Server[] */
    private array $servers;
    private readonly string $key;
    private int $current = 0; // the one to ask next
    private bool $isOneByOne = false; // a server did not know a request about several names
    /** @internal */
    public readonly Owner $owner;
    /** @internal */
    public readonly array $urls;

    /**
     * @param string|string[]|null $servers URLs such as "http://127.0.0.1:7380", up to 8, or "unix:/run/pawl/pawld.sock",
     *     the socket of pawld --listen. null: those of PAWL_SERVER, with spaces between; or SOCKET_DEFAULT, where this
     *     process may connect to that socket; or SERVER_DEFAULT
     * @param float $callTimeout how long a call may take beyond what it waits for, in seconds. Looking up a name is not
     *     in it: the system's resolver has times of its own
     * @param ?string $key "pawl_...", where the servers ask for one; null: that of PAWL_KEY. Use https beyond this machine
     * @param ?string $caFile for https, in PEM: the CA certificates to trust; null: those of PAWL_CA_FILE, or the system's
     * @param ?string $cert for https, in PEM: the client certificate; null: that of PAWL_CERT
     * @param ?string $certKey for https, in PEM: its key; null: that of PAWL_CERT_KEY
     */
    public function __construct(
        string|array|null $servers = null,
        public readonly float $callTimeout = 5.0,
        ?string $key = null,
        ?string $caFile = null,
        ?string $cert = null,
        ?string $certKey = null,
    ) {
        $texts = is_array($servers) ? array_values($servers) : self::words($servers ?? (string) getenv('PAWL_SERVER'));
        $texts = $texts === [] && $servers === null ? [self::defaultServer()] : $texts;
        Text::require(count($texts) >= 1 && count($texts) <= Limit::SERVERS, 'a client must have 1 to 8 servers');
        $this->key = $key ?? (string) getenv('PAWL_KEY');
        Text::require(strlen($this->key) <= Limit::KEY && preg_match('/^[!-~]*$/D', $this->key) === 1,
            'a key must be one word of at most ' . Limit::KEY . ' characters');
        Text::seconds('callTimeout', $callTimeout, 0.001, Limit::CALL);
        $files = [$caFile ?? (string) getenv('PAWL_CA_FILE'), $cert ?? (string) getenv('PAWL_CERT'),
            $certKey ?? (string) getenv('PAWL_CERT_KEY')];
        $this->servers = array_map(static fn (string $text) => new Server($text, $files), $texts);
        $urls = array_map(static fn (Server $server) => $server->url, $this->servers);
        sort($urls);
        $this->urls = $urls;
        $this->owner = new Owner();
    }

    private static function words(string $text): array
    {
        return preg_split('/\s+/', $text, -1, PREG_SPLIT_NO_EMPTY);
    }

    private static function defaultServer(): string
    {
        return is_writable(substr(SOCKET_DEFAULT, strlen('unix:'))) ? SOCKET_DEFAULT : SERVER_DEFAULT;
    }

    /**
     * Acquires a lock, calls $work with it, and releases it at the end, whatever ends $work. Returns what $work returns.
     * Nothing extends the lock but Lock::extend().
     *
     * $options are named:
     * - ttl: the lease; null: the fleet's default, 30. wait: how long to wait where another one holds the lock; null:
     *   without end; 0: not at all. owner: a label that others see.
     * - permits: the name is of a semaphore with so many seats, 1 to 64: see Lock::seat().
     * - mode: "read" or "write": the name is of a read-write lock, with many readers or one writer.
     * - delay: how long others stay out after a lease that ends by itself. A release lets them in at once.
     * - onWait: called with a Held at most once, before the wait begins.
     * - takeNewGrant: where an extension is a new grant, take its token and go on. Read the token again, and again what
     *   the work depends on. Without it, the lock is lost.
     *
     * Throws what acquire() throws. Throws Lost at the end of $work where the lock was not held until then.
     *
     * @param string|string[] $names one, or several that are acquired all or none
     */
    public function lock(string|array $names, callable $work, mixed ...$options): mixed
    {
        $lock = $this->acquire($names, ...$options);
        $lock->putInBlock();
        try {
            $result = $work($lock);
            if (!$lock->isReleased()) {
                $lock->check();
            }
            return $result;
        } finally {
            $lock->finish();
        }
    }

    /**
     * Acquires, as lock() does, and returns the Lock. Nothing releases it but Lock::release().
     *
     * It repeats where an answer is lost, under the same lock id, so that no lock is left behind that nobody knows of.
     * Where no server answers from the start on, it gives up after the call timeout. Work that waits for its own lock is
     * Refused, and so is a call that waits without end for a lock of acquire().
     *
     * Throws Held, Unavailable, Refused, Invalid, Protocol, Forked.
     */
    public function acquire(string|array $names, mixed ...$options): Lock
    {
        $this->owner->check();
        $request = new Request((array) $names, ...$options);
        try {
            Lock::checkOwn($this, $request);
            $until = Moment::steady() + ($request->wait ?? INF);
            for (;;) { // again only where an answer came after its own validity had ended
                $lock = (new Acquisition($this, $request, $until))->run();
                if ($lock->held()) {
                    return $lock;
                }
                if (Moment::steady() >= $until) {
                    throw new Unavailable('its validity had ended when the answer came');
                }
            }
        } catch (PawlException $failed) {
            throw $failed->about('acquire', $request->names);
        }
    }

    /**
     * The states of a lock: how it is now, and each change. No lock is taken. Only the last change is told where several
     * came at once. Once a server has answered, failures of servers and gateways end no watch.
     *
     * @param ?float $wait how long to watch; null: without end
     * @return \Generator<State>
     */
    public function watch(string $name, ?float $wait = null): \Generator
    {
        $until = Moment::steady() + ($wait === null ? INF : Text::seconds('wait', $wait, 0, Limit::TIME));
        $path = Request::path(Text::check('a name', $name, 1, Limit::NAME), 'locks');
        $known = null;
        do {
            $state = self::about('watch', $name, fn () => $this->look($name, $path, $known, $until));
            $known = $state;
            if ($state !== null) {
                yield $state;
            }
        } while ($state !== null);
    }

    /** The state of a lock. */
    public function state(string $name): State
    {
        $call = new Call('GET', Request::path(Text::check('a name', $name, 1, Limit::NAME), 'locks'));
        return self::about('inspect', $name, fn () => self::stateOf($this->askUntil($call, Moment::steady()
            + $this->callTimeout), $name) ?? new State(true));
    }

    /**
     * Takes the next $count values of a named counter, and returns the last one; the others are right below it. Where an
     * answer is lost it asks again, and the values of the lost one are nobody's.
     */
    public function nextValue(string $counter, int $count = 1): int
    {
        $path = Request::path(Text::check('a name', $counter, 1, Limit::NAME), 'counters');
        $call = new Call('POST', $path, ['count' => $count]);
        return self::about('count', $counter, fn () => $this->askUntil($call, Moment::steady() + $this->callTimeout)
            ->checkMember('name', [$counter])->integer('value', $count, Limit::TOKEN));
    }

    /** The last value of a named counter. Throws Refused where it was never counted. */
    public function lastValue(string $counter): int
    {
        $call = new Call('GET', Request::path(Text::check('a name', $counter, 1, Limit::NAME), 'counters'));
        return self::about('read', $counter, fn () => $this->askUntil($call, Moment::steady() + $this->callTimeout)
            ->checkMember('name', [$counter])->integer('value', 0, Limit::TOKEN));
    }

    private static function about(string $verb, string $name, callable $call): mixed
    {
        try {
            return $call();
        } catch (PawlException $failed) {
            throw $failed->about($verb, [$name]);
        }
    }

    /** @internal */
    public function serverCount(): int
    {
        return count($this->servers);
    }

    /**
     * @internal Asks the current server once. Where it has no answer, or may not answer the next time, the next call asks
     * the next server.
     */
    public function ask(Call $call, float $timeout): Answer
    {
        $this->owner->check();
        $at = $this->current;
        try {
            $answer = $call->ask($this->servers[$at], $this->key, max($timeout, 0.001));
            if ($answer->status >= 300 || $answer->isForeign) {
                throw $answer->error();
            }
            return $answer;
        } catch (Unavailable $failed) {
            $this->current = ($at + 1) % count($this->servers);
            throw $failed;
        }
    }

    /**
     * @internal Repeats until there is an answer that is no reason to repeat. Each server gets its share of the time, so
     * that one that hangs does not use it up.
     */
    public function askUntil(Call $call, float $until): Answer
    {
        $patience = new Patience($until);
        $share = max($until - Moment::steady(), 0.001) / count($this->servers);
        for (;;) {
            try {
                return $this->ask($call, min($share, $until - Moment::steady()));
            } catch (Unavailable $failed) {
                if (!$patience->pause() || Moment::steady() >= $until) {
                    throw $failed;
                }
            }
        }
    }

    /**
     * @internal Asks about all names in one request.
     * @return array<?Answer> in the order of the names; null: the name is asked about by itself
     */
    public function askGroup(string $method, string $lockId, array $body, float $until): array
    {
        $count = count($body['resources']);
        $none = array_fill(0, $count, null);
        if ($count === 1 || $this->isOneByOne) {
            return $none;
        }
        $call = new Call($method, '/v1/locks', $body, ['Lock-Id' => $lockId]);
        try {
            $answer = $this->ask($call, ($until - Moment::steady()) / (count($this->servers) + 1));
        } catch (Forked $failed) {
            throw $failed;
        } catch (PawlException) {
            $answer = $call->answer; // an older pawld knows no such request, and a gateway tells nothing of a pawld
            if ($answer !== null && !$answer->isForeign && in_array($answer->status, [404, 405], true)) {
                $this->isOneByOne = true;
            }
            return $none;
        }
        $responses = $answer->json->responses ?? null;
        return is_array($responses) && count($responses) === $count
            ? array_map(static fn (mixed $response) => $answer->part($response), $responses) : $none;
    }

    /** @internal */
    public function release(array $names, string $lockId, float $until, string $kind, float $keep = 0.0): bool
    {
        $body = ['resources' => $names] + ($keep > 0 ? ['keep_ms' => Text::ms($keep)] : []);
        $query = $keep > 0 ? "?keep_ms={$body['keep_ms']}" : '';
        $answers = $this->askGroup('DELETE', $lockId, $body, $until);
        $isReleased = true;
        $failed = null;
        foreach ($names as $at => $name) {
            try {
                $call = new Call('DELETE', Request::path($name, $kind) . $query, null, ['Lock-Id' => $lockId]);
                $answer = $answers[$at] ?? $this->askUntil($call, $until);
                $isReleased = $isReleased && ($answer->json->released ?? null) === true;
            } catch (PawlException $one) {
                $failed = $one->about('release', [$name]);
            }
        }
        return $failed === null ? $isReleased : throw $failed;
    }

    /** The lock of a name as an answer tells it; null: the masters differ on the holder's token, as a grant is on its way. */
    private static function stateOf(Answer $answer, string $name): ?State
    {
        $held = $answer->json->held ?? null;
        if ($answer->status !== 200 || !is_bool($held)) {
            throw new Protocol("$answer->server reported a lock without a valid holder");
        }
        $answer->checkMember('resource', [$name]);
        if (!$held) {
            return new State(false);
        }
        if (property_exists($answer->json, 'token') && $answer->json->token === null) {
            return null;
        }
        return new State(true, $answer->integer('token', 1, Limit::TOKEN), $answer->text('owner') ?? '');
    }

    /**
     * The first state that is not known; null: the time is over. A server that answers sooner than it was asked to, and
     * with nothing new, is asked again after a pause.
     */
    private function look(string $name, string $path, ?State $known, float $until): ?State
    {
        $waiting = new Waiting($this, $until);
        $waiting->isAnswered = $known !== null;
        for (;;) {
            $wasTold = $waiting->isTold;
            $wait = $known === null ? 0.0 : $waiting->left(Limit::WATCH_STEP);
            $query = $known === null ? '' : '?unless=' . ($known->token ?? 'free') . '&wait_ms=' . Text::ms($wait);
            $failure = null;
            try {
                $state = self::stateOf($waiting->ask(new Call('GET', $path . $query), $wait), $name);
                $waiting->isTold = true;
                if ($state !== null && ($known === null || $state->token !== $known->token)) {
                    return $state;
                }
                if (Moment::steady() >= $until) {
                    return null;
                }
                if ($known !== null && !$wasTold) {
                    continue; // it did not wait: the next one does
                }
            } catch (Unavailable $failed) {
                $failure = $failed;
            }
            if (!$waiting->goesOn()) {
                return $failure === null ? null : throw $failure;
            }
        }
    }
}

/** @internal What is wanted, checked. */
final class Request
{
    /** @var string[] */
    public readonly array $names;

    public function __construct(
        array $names,
        public readonly ?float $ttl = null,
        public readonly ?float $wait = null,
        private readonly ?string $owner = null,
        private readonly ?int $permits = null,
        private readonly ?string $mode = null,
        private readonly float $delay = 0.0,
        public readonly ?\Closure $onWait = null,
        public readonly bool $takeNewGrant = false,
    ) {
        $this->names = array_map(static fn (string $name) => Text::check('a name', $name, 1, Limit::NAME),
            array_values($names));
        $count = count($this->names);
        Text::require($count >= 1 && $count <= Limit::NAMES, 'a lock has 1 to ' . Limit::NAMES . ' names');
        Text::require(count(array_unique($this->names)) === $count, 'a name is given twice');
        Text::seconds('ttl', $ttl ?? 1.0, 0.001, Limit::TIME);
        Text::seconds('wait', $wait ?? 0.0, 0, Limit::TIME);
        Text::seconds('delay', $delay, 0, Limit::TIME);
        Text::check('owner', $owner ?? '', 0, Limit::OWNER);
        Text::require($permits === null || ($permits >= 1 && $permits <= Limit::PERMITS), 'permits must be 1 to 64');
        Text::require(in_array($mode, [null, 'read', 'write'], true), 'mode is read or write');
        Text::require($count === 1 || ($permits ?? $mode) === null, 'a semaphore and a read-write lock have one name');
        Text::require($permits === null || $mode === null, 'a read-write lock has no permits');
    }

    public static function path(string $name, string $kind): string
    {
        return "/v1/$kind/" . strtr(rawurlencode($name), ['%2F' => '/', '%3A' => ':', '%40' => '@']);
    }

    /** How many seats the name may have; null: the lock is the name's alone. */
    private function seats(): ?int
    {
        return $this->mode === 'read' ? Limit::READERS : $this->permits;
    }

    /** Where the lock is extended and released: that of a writer has no other name, that of a reader has. */
    public function kind(): string
    {
        return $this->mode === 'write' ? 'rwlocks' : 'locks';
    }

    /** @return array{string[], string} what releases all that an attempt may have left: of a semaphore, any seat */
    public function leftBehind(): array
    {
        if ($this->permits === null) {
            return [$this->names, $this->mode === null ? 'locks' : 'rwlocks'];
        }
        return [array_map(fn (int $seat) => "{$this->names[0]}#$seat", range(0, $this->permits - 1)), 'locks'];
    }

    public function call(string $lockId, float $wait, float $waited): Call
    {
        $isGroup = count($this->names) > 1;
        $body = ['lock_id' => $lockId, 'wait_ms' => Text::ms($wait), 'owner' => $this->owner, 'mode' => $this->mode,
            'permits' => $this->permits, 'ttl_ms' => $this->ttl === null ? null : Text::ms($this->ttl),
            'delay_ms' => $this->delay > 0 ? Text::ms($this->delay) : null, 'resources' => $isGroup ? $this->names : null];
        $asked = $this->permits !== null ? 'semaphores' : ($this->mode !== null ? 'rwlocks' : 'locks');
        return new Call('POST', $isGroup ? '/v1/locks' : self::path($this->names[0], $asked),
            array_filter($body, static fn (mixed $value) => $value !== null), ['Waited-Ms' => Text::ms($waited)]);
    }

    /** @return array{string[], int[]} the names and the tokens of a grant */
    public function grantOf(Answer $answer): array
    {
        if (count($this->names) > 1) {
            return [$this->names, array_map(fn (string $name) => $answer->integer('token', 1, Limit::TOKEN,
                self::grantIn($answer, $name)), $this->names)];
        }
        [$name] = $this->names;
        if ($this->seats() !== null) {
            $seats = array_map(static fn (int $seat) => "$name#$seat", range(0, $this->seats() - 1));
            $name = $answer->text('resource') ?? '';
            if (!in_array($name, $seats, true)) {
                throw new Protocol("$answer->server granted a seat without a valid index");
            }
        }
        return [[$name], [$answer->integer('token', 1, Limit::TOKEN)]];
    }

    private static function grantIn(Answer $answer, string $name): \stdClass
    {
        $grants = $answer->json->grants ?? null;
        foreach (is_array($grants) ? $grants : [] as $grant) {
            if ($grant instanceof \stdClass && ($grant->resource ?? null) === $name) {
                return $grant;
            }
        }
        return new \stdClass();
    }
}

/* ---- acquiring ---- */

/**
 * @internal A call that waits at a server: attempts, until one ends it or its time is over. A server that answered before
 * is waited for until the end of the wait. No answer from the start on: only for a call's timeout.
 */
class Waiting
{
    public bool $isTold; // the next attempt waits
    public bool $isAnswered = false; // a pawld or its gateway did: then it is worth to wait for it
    protected Patience $patience;
    private float $first;
    private float $asked = 0.0; // when the last attempt began
    private float $waits = 0.0; // what it was to wait

    public function __construct(protected readonly Client $client, protected readonly float $until)
    {
        $this->isTold = $client->serverCount() === 1;
        $this->first = Moment::steady() + $client->callTimeout;
        $this->patience = new Patience($this->first);
    }

    /** The first attempt waits for nothing where it is not known which of several servers answers. */
    public function left(float $most): float
    {
        return $this->isTold ? min(max($this->until - Moment::steady(), 0.0), $most) : 0.0;
    }

    /** Whether the last attempt waited at a pawld. What ends such a wait is a gateway that cuts it. */
    private function didWait(): bool
    {
        return $this->waits > 0 && Moment::steady() - $this->asked >= Limit::CUT_LEAST;
    }

    public function ask(Call $call, float $wait): Answer
    {
        $this->asked = Moment::steady();
        $this->waits = $wait;
        try {
            $answer = $this->client->ask($call, $wait + $this->client->callTimeout / $this->client->serverCount());
            $this->isAnswered = true;
            return $answer;
        } catch (Protocol $page) {
            if (!$call->answer?->isForeign || !($this->isAnswered || $this->didWait())) {
                throw $page;
            }
            $this->isAnswered = true;
            throw new Unavailable($page->getMessage()); // of a gateway
        } catch (PawlException $failed) {
            $this->isAnswered = $this->isAnswered || $call->answer !== null || ($call->isCut && $this->didWait());
            throw $failed;
        }
    }

    /**
     * Pauses before the next attempt. False: there is none. A wait that a gateway cut at its very end is followed by one
     * more attempt, which says how the lock is.
     */
    public function goesOn(): bool
    {
        $did = $this->didWait();
        if ($did) {
            $this->patience->next = 0.0; // it was no hot loop, and its place is kept for a moment
        }
        if ($this->isAnswered && $this->until > $this->first) {
            $this->patience->until = $this->until;
        }
        return $this->patience->pause() || ($did && $this->isAnswered);
    }
}

/** @internal Attempts under one lock id, until one is granted or the time is over. */
final class Acquisition extends Waiting
{
    private readonly string $lockId;
    private readonly float $began;
    private bool $isInDoubt = false; // an attempt may have left the lock behind
    private ?Call $call = null; // that is under way

    public function __construct(Client $client, private readonly Request $request, float $until)
    {
        parent::__construct($client, $until);
        $this->lockId = strtr(base64_encode(random_bytes(21)), '+/', '-_');
        $this->began = Moment::steady();
        $this->isTold = $this->isTold && $request->onWait === null; // the first attempt finds out who is in the way
    }

    /** exit() in a handler of a signal runs no `finally`. */
    public function __destruct()
    {
        if ($this->call?->isReached) {
            $this->cleanUp();
        }
    }

    public function run(): Lock
    {
        $lock = null;
        try {
            $answer = $this->attempts();
            $ttl = $answer->integer('ttl_ms', 1, Text::ms($this->request->ttl ?? Limit::TTL)) / 1000;
            [$names, $tokens] = $this->request->grantOf($answer);
            $answer->check($this->lockId, $names);
            return $lock = new Lock($this->client, $this->request, $this->lockId, $ttl, $names, $tokens,
                $answer->deadline($ttl));
        } finally {
            if ($this->isInDoubt && !$lock?->held()) {
                $this->cleanUp();
            }
        }
    }

    private function attempt(): Answer
    {
        $wait = $this->left(Limit::WAIT_STEP);
        $this->call = $call = $this->request->call($this->lockId, $wait, Moment::steady() - $this->began);
        $isSettled = false;
        try {
            $answer = $this->ask($call, $wait);
            if (!in_array($answer->status, [200, 201], true)) {
                throw $answer->error();
            }
            $this->isInDoubt = true; // until the answer is understood, and its lock is somebody's
            return $answer;
        } catch (Held | Refused | Exhausted | Lost $told) {
            $isSettled = true;
            throw $told;
        } finally {
            $this->call = null;
            $this->isInDoubt = $this->isInDoubt || (!$isSettled && $call->isReached); // a signal's exception, too
        }
    }

    /** One attempt after the other. Another one's lock is waited for as a server that answered. */
    private function attempts(): Answer
    {
        for (;;) {
            try {
                return $this->attempt();
            } catch (Held $failed) {
                if (Moment::steady() >= $this->until) {
                    throw $failed;
                }
                $this->patience->next = Limit::PAUSE_LEAST;
                if (!$this->isTold) {
                    $this->isTold = true;
                    if ($this->request->onWait !== null) {
                        ($this->request->onWait)($failed);
                    }
                    continue;
                }
            } catch (Unavailable $failed) {
                // asked again, as long as the patience lasts
            }
            if (!$this->goesOn()) {
                throw $failed;
            }
        }
    }

    /** Nobody else knows the lock id: what an attempt may have left behind would stay until its lease ends. */
    private function cleanUp(): void
    {
        [$names, $kind] = $this->request->leftBehind();
        try {
            $this->client->release($names, $this->lockId, Moment::steady() + $this->client->callTimeout, $kind);
        } catch (PawlException) {
            // the lease ends by itself
        }
    }
}

/* ---- the lock ---- */

/** A lock that was acquired. Client::lock() and Client::acquire() make it. */
final class Lock
{
    /** @var \WeakReference<Lock>[] the locks of this process */
    private static array $own = [];
    private readonly Owner $owner;
    private readonly string $kind;
    private readonly bool $takesNewGrant;
    /** @var Deadline[] */
    private array $deadlines;
    private bool $isLost = false;
    private bool $isReleased = false;
    private bool $isInBlock = false;
    private ?float $keepUnderWay = null; // of a release that has not ended
    private ?Lost $reason = null;

    /**
     * @internal
     * @param string[] $names
     * @param int[] $tokens
     */
    public function __construct(
        private readonly Client $client,
        Request $request,
        private readonly string $lockId,
        private readonly float $ttl,
        private readonly array $names,
        private array $tokens,
        Deadline $deadline,
    ) {
        $this->owner = $client->owner;
        $this->kind = $request->kind();
        $this->takesNewGrant = $request->takeNewGrant;
        $this->deadlines = array_fill(0, count($names), $deadline);
        self::$own[] = \WeakReference::create($this);
    }

    /** exit() runs no `finally` of Client::lock(), and ends a release where a signal handler calls it. */
    public function __destruct()
    {
        if ($this->keepUnderWay !== null) {
            $this->releaseAgain();
        } elseif ($this->isInBlock) {
            $this->finish();
        }
    }

    /** @return string[] */
    public function names(): array
    {
        return $this->names;
    }

    /** The secret under which the lock is held. */
    public function lockId(): string
    {
        return $this->lockId;
    }

    /** The lease as it was acquired, in seconds. */
    public function ttl(): float
    {
        return $this->ttl;
    }

    /** Whether the lock is held now, by the clock. Once it was false, it is never true again. */
    public function held(): bool
    {
        return $this->left() > 0;
    }

    /** The seconds until the deadline. 0: it passed, or the lock is lost or released. */
    public function left(): float
    {
        if ($this->isLost || $this->isReleased || !$this->owner->isHere()) {
            return 0.0;
        }
        $left = $this->untilDeadline();
        $this->isLost = $left <= 0;
        return $left;
    }

    private function untilDeadline(): float
    {
        $now = new Moment();
        return min(array_map(static fn (Deadline $deadline) => $deadline->left($now), $this->deadlines));
    }

    /** Throws Lost unless the lock is held now. Call it before each step that matters. */
    public function check(): void
    {
        if (!$this->held()) {
            throw $this->why();
        }
    }

    private function why(): Lost
    {
        $all = implode(', ', $this->names);
        if (!$this->owner->isHere()) {
            return $this->owner->error("the lock $all");
        }
        return $this->reason ?? new Lost($this->isReleased ? "the lock $all was released"
            : "the validity of the lock $all has ended", '', $this->names[0]);
    }

    /** The fencing token of a lock with one name. */
    public function token(): int
    {
        Text::require(count($this->names) === 1, 'a lock of several names has a token for each: see tokens()');
        return $this->tokens[0];
    }

    /** @return int[] the fencing tokens, in the order of names() */
    public function tokens(): array
    {
        return $this->tokens;
    }

    /** The index of the seat of a semaphore, or of a reader; null: there is none. */
    public function seat(): ?int
    {
        return preg_match('/#(\d+)$/D', $this->names[0], $parts) === 1 ? (int) $parts[1] : null;
    }

    public function isReleased(): bool
    {
        return $this->isReleased;
    }

    /**
     * Extends all names by $ttl seconds from now on; null: the lease. Takes no longer than the call timeout, and not past
     * the deadline.
     *
     * Throws Lost where the lock is lost, or its deadline passes without an answer; NewGrant where it was acquired again.
     * The deadline stands after Unavailable, Exhausted, Refused and Protocol.
     */
    public function extend(?float $ttl = null): void
    {
        $ttl = $ttl === null ? $this->ttl : Text::seconds('ttl', $ttl, 0.001, Limit::TIME);
        $this->check();
        // Two steps of the clock later the deadline has passed on both clocks.
        $until = Moment::steady() + min($this->client->callTimeout, $this->left() + 2 * Moment::STEP);
        $body = ['resources' => $this->names, 'tokens' => $this->tokens, 'ttl_ms' => Text::ms($ttl)];
        $answers = $this->client->askGroup('PATCH', $this->lockId, $body, $until);
        foreach ($this->names as $at => $name) {
            $this->check();
            try {
                $this->extendName($at, $ttl, $until, $answers[$at]);
            } catch (Lost $lost) {
                $this->isLost = true;
                $this->reason ??= $lost;
                throw $lost;
            } catch (Unavailable $failed) {
                $this->check();
                throw $failed->about('extend', [$name]);
            } catch (PawlException $failed) {
                throw $failed->about('extend', [$name]);
            }
        }
    }

    private function extendName(int $at, float $ttl, float $until, ?Answer $answer): void
    {
        $name = $this->names[$at];
        $answer ??= $this->client->askUntil(new Call('PATCH', Request::path($name, $this->kind),
            ['ttl_ms' => Text::ms($ttl)], ['Lock-Id' => $this->lockId, 'Fencing-Token' => $this->tokens[$at]]), $until);
        $answer->check($this->lockId, [$name]);
        $deadline = $answer->deadline($ttl);
        $token = $answer->status === 201 ? $answer->integer('token', $this->tokens[$at], Limit::TOKEN) : $this->tokens[$at];
        $this->check(); // an answer that comes too late mends nothing: the holder was told that the lock had ended
        if ($answer->status === 201 && !$this->takesNewGrant) {
            $new = new NewGrant("the lock $name was acquired again, and another caller may have held it in between", '', $name);
            $new->token = $token;
            throw $new;
        }
        $this->tokens[$at] = $token;
        $this->deadlines[$at] = $deadline;
    }

    /**
     * Releases all names. The lock is not held from the start of this call on.
     *
     * @param float $keep others stay out for so many seconds, but no longer than the lock had left. So work that was
     *     quick keeps its slot
     * @return bool whether the lock was held until now. Unavailable: that is not known; safe to repeat, and the lease ends
     *     by itself. Takes the call timeout at most, and half a second where the validity has ended
     */
    public function release(float $keep = 0.0): bool
    {
        $this->owner->check('the lock ' . implode(', ', $this->names));
        Text::seconds('keep', $keep, 0, Limit::TIME);
        $most = $this->client->callTimeout;
        if (!$this->isReleased) { // there is nothing to wait for once the lease is over
            $most = min($most, $this->untilDeadline() + Limit::LATE);
        }
        $this->isReleased = true;
        $this->keepUnderWay = $keep;
        try {
            $wasHeld = $this->client->release($this->names, $this->lockId, Moment::steady() + $most, $this->kind, $keep);
            $this->keepUnderWay = null;
            return $wasHeld;
        } catch (PawlException $failed) {
            $this->keepUnderWay = null;
            throw $failed;
        } catch (\Throwable $thrown) { // by a signal handler: the lock would stay until its lease ends
            $this->releaseAgain();
            throw $thrown;
        }
    }

    /** Sends once more a release that was interrupted. */
    private function releaseAgain(): void
    {
        [$keep, $this->keepUnderWay] = [$this->keepUnderWay, null];
        try {
            $this->owner->check('the lock');
            $until = Moment::steady() + $this->client->callTimeout;
            $this->client->release($this->names, $this->lockId, $until, $this->kind, $keep);
        } catch (PawlException) {
            // the lease ends by itself
        }
    }

    /** @internal */
    public function putInBlock(): void
    {
        $this->isInBlock = true;
    }

    /** @internal Releases at the end of a block, also a lock that is lost: a new grant may be there. */
    public function finish(): void
    {
        try {
            if (!$this->isReleased) {
                $this->release();
            }
        } catch (PawlException) {
            // the lease ends by itself
        }
    }

    /** @internal Throws Refused where the caller would wait for a lock that it holds itself. */
    public static function checkOwn(Client $client, Request $request): void
    {
        self::$own = array_filter(self::$own, static fn (\WeakReference $own) => (bool) $own->get()?->held());
        foreach ($request->wait === 0.0 ? [] : self::$own as $reference) {
            $own = $reference->get();
            $name = array_values(array_intersect($own->names, $request->names))[0] ?? null;
            $waits = $own->isInBlock ? $own->client->urls === $client->urls
                : $own->client === $client && $request->wait === null;
            if ($name !== null && $waits) {
                throw new Refused("this program already holds $name and would wait for itself: release the lock "
                    . 'first, or do not wait (wait: 0)', 'nested', $name);
            }
        }
    }
}
