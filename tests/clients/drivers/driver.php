<?php
/* The driver of the client for PHP: ../README.md has the commands. */
require __DIR__ . '/../../../api/client/php/Pawl.php';

final class Cancelled extends Exception
{
}

const KINDS = [Pawl\Held::class => 'held', Pawl\Lost::class => 'lost', Pawl\NewGrant::class => 'new-grant',
    Pawl\Unavailable::class => 'unavailable', Pawl\Exhausted::class => 'exhausted', Pawl\Refused::class => 'refused',
    Pawl\Invalid::class => 'invalid', Pawl\Protocol::class => 'protocol', Cancelled::class => 'cancelled'];
const LEFT_OUT = ['renew' => 'PHP has no threads: nothing extends in the background',
    'close' => 'a connection serves one call', 'threads' => 'PHP has no threads'];
$client = $lock = null;

/** The options that are not "-"; times are milliseconds. */
function given(string ...$options): array
{
    $given = [];
    foreach (array_filter($options, fn ($text) => $text !== '-') as $name => $text) {
        $given[$name] = ['owner' => $text, 'mode' => $text, 'permits' => (int) $text][$name] ?? (int) $text / 1000;
    }
    return $given;
}

function take(array $names, string ...$options): string
{
    $GLOBALS['lock'] = $lock = $GLOBALS['client']->acquire($names, ...given(...$options));
    return trim($lock->seat() . ' ' . implode(' ', $lock->tokens()));
}

function said(Pawl\State $state): string
{
    return $state->held ? "held $state->token $state->owner" : 'free';
}

function nested(string $wait, string $name): string
{
    global $client;
    return $client->lock($name, fn () => $client->acquire($name, ...given(wait: $wait)), ttl: 5)->lockId();
}

/** An exception of a handler of a signal ends the wait. Alarms count seconds. */
function cancel(string $name): string
{
    pcntl_async_signals(true);
    pcntl_signal(SIGALRM, fn () => throw new Cancelled());
    pcntl_alarm(1);
    return $GLOBALS['client']->acquire($name)->lockId();
}

function watch(string $wait, int $count, string $name): string
{
    $told = [];
    foreach ($GLOBALS['client']->watch($name, ...given(wait: $wait)) as $state) {
        $told[] = said($state);
        if (count($told) === $count) {
            break;
        }
    }
    return implode(', ', $told);
}

/** What a call throws. */
function kindOf(callable $call): string
{
    try {
        $call();
        return 'ok';
    } catch (Pawl\PawlException $failed) {
        return $failed->type;
    }
}

/** What a child says, which ends with all destructors. */
function forkAndAsk(Pawl\Lock $lock, string $name): string
{
    global $client;
    [$reader, $writer] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = pcntl_fork();
    if ($child === 0) {
        fwrite($writer, implode(' ', [(int) ($lock->left() * 1000), kindOf(fn () => $lock->extend()),
            kindOf(fn () => $lock->release()), kindOf(fn () => $client->acquire($name))]));
        exit(0);
    }
    fclose($writer);
    pcntl_waitpid($child, $status);
    return stream_get_contents($reader);
}

function run(string $command, string ...$words): ?string
{
    global $client, $lock;
    switch ($command) {
        case 'client':
            $client = new Pawl\Client($words[1] === '-' ? null : explode(' ', $words[1]), (int) $words[0] / 1000, $words[2] ?? null);
            return '';
        case 'acquire': return take(array_slice($words, 3), wait: $words[0], ttl: $words[1], owner: $words[2]);
        case 'seat': return take([$words[3]], wait: $words[0], ttl: $words[1], permits: $words[2]);
        case 'rwlock': return take([$words[3]], wait: $words[0], ttl: $words[1], mode: $words[2]);
        case 'delayed': return take([$words[2]], delay: $words[0], ttl: $words[1]);
        case 'keep': return $lock->release(...given(keep: $words[0])) ? 'true' : 'false';
        case 'extend':
            $lock->extend(...given(ttl: $words[0]));
            return implode(' ', $lock->tokens());
        case 'release': return $lock->release() ? 'true' : 'false';
        case 'left': return (string) (int) ($lock->left() * 1000);
        case 'nested': return nested(...$words);
        case 'cancel': return cancel($words[1]);
        case 'watch': return watch($words[0], (int) $words[1], $words[2]);
        case 'counter': return (string) $client->nextValue($words[1], (int) $words[0]);
        case 'inspect': return said($client->state($words[0]));
        case 'fork': return forkAndAsk($lock, 'orders/42');
        case 'fork_in_block': return $client->lock($words[0], fn ($lock) => forkAndAsk($lock, $words[0]), ttl: 5);
        case 'interrupt':
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, fn () => throw new Cancelled());
            return $client->lock($words[0], fn () => (string) pcntl_alarm(1), ttl: 5); // alarms count seconds
        case 'leave': return $client->lock($words[0], fn () => throw new Cancelled(), ttl: 5);
        case 'handle':
            pcntl_async_signals(true);
            return (string) pcntl_signal(SIGUSR1, fn () => null, false);
        case 'end':
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, fn () => exit(0));
            pcntl_alarm(1); // alarms count seconds
            return $client->acquire($words[0])->lockId();
        case 'group': return '';
    }
    return null;
}

while (($line = fgets(STDIN)) !== false || !feof(STDIN)) {
    if ($line === false) {
        continue; // a signal came
    }
    [$kind, $text] = ['ok', ''];
    try {
        $value = run(...explode("\t", rtrim($line, "\n")));
        if ($value === null) {
            [$kind, $text] = ['none', LEFT_OUT[strtok(rtrim($line, "\n"), "\t")] ?? ''];
        }
    } catch (Throwable $failed) {
        $kind = KINDS[$failed::class] ?? 'another error: ' . $failed::class;
        $text = "{$failed->getMessage()} {$failed->getLine()}";
        $text .= $failed instanceof Pawl\PawlException ? " $failed->type $failed->name" : '';
        $text .= $failed instanceof Pawl\Held ? " $failed->owner" : '';
        $value = '';
    }
    echo "$kind\t$value\t", str_replace("\n", ' ', $text), "\n";
}
