/* The recipe for DynamoDB, on dynalite: its requests, without signatures. */
import { join } from 'node:path';

import { blocks, declared } from './page.mjs';
import { judge, Stale } from './race.mjs';
import { freePort, needPackage, start } from './servers.mjs';

const modules = needPackage('dynalite');
const port = await freePort();

async function dynamodb(action, request) {
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        headers: {
            'content-type': 'application/x-amz-json-1.0',
            'x-amz-target': `DynamoDB_20120810.${action}`,
            'x-amz-date': '20260101T000000Z',
            authorization: 'AWS4-HMAC-SHA256 Credential=test/20260101/local/dynamodb/aws4_request, '
                + 'SignedHeaders=host;x-amz-date;x-amz-target, Signature=0',
        },
        body: JSON.stringify(request),
    });
    const said = await answer.json();
    if (said.__type?.endsWith('#ConditionalCheckFailedException')) {
        throw new Stale(said.message);
    }
    if (!answer.ok) {
        throw new Error(JSON.stringify(said));
    }
    return said;
}

const { claim, write } = declared(blocks('DynamoDB', 'js')[0], { dynamodb }, 'claim', 'write');
const amount = (item) => Number(item?.amount?.N ?? 0);

await start('dynalite', [process.execPath, join(modules, 'dynalite/cli.js'), '--host', '127.0.0.1',
    '--port', String(port), '--createTableMs', '0'], () => dynamodb('ListTables', {}));
await dynamodb('CreateTable', {
    TableName: 'orders',
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    BillingMode: 'PAY_PER_REQUEST',
});
while ((await dynamodb('DescribeTable', { TableName: 'orders' })).Table.TableStatus !== 'ACTIVE');

await judge({
    claim: async (name, token) => amount((await claim(name, token)).Attributes),
    write,
    read: async (name) => amount((await dynamodb('GetItem',
        { TableName: 'orders', Key: { id: { S: name } }, ConsistentRead: true })).Item),
    overwrite: (name, number) => dynamodb('UpdateItem', {
        TableName: 'orders', Key: { id: { S: name } }, UpdateExpression: 'SET amount = :a',
        ExpressionAttributeValues: { ':a': { N: String(number) } },
    }),
});
