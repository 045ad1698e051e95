/* relay.mjs PORT TO_PORT LATE_MS: a link on loopback on which all that is sent there arrives so much later. */
import { connect, createServer } from 'node:net';
import process from 'node:process';

const [port, to, late] = process.argv.slice(2).map(Number);

createServer((from) => {
    let there = null; /* it is not reached before the first of it arrives */
    from.on('error', () => {}).on('close', () => there?.destroy());
    from.on('data', (bytes) => setTimeout(() => {
        if (!there) {
            there = connect(to, '127.0.0.1').on('error', () => from.destroy());
            there.pipe(from);
        }
        there.write(bytes);
    }, late));
}).listen(port, '127.0.0.1', () => console.log('listening'));
