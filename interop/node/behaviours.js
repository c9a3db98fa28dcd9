'use strict';
// The behaviours of interop/behaviours/behaviours.toml, with the official Node.js client.
//
//     behaviours.js ID…
//
// Prints a line of JSON per behaviour: client, version, behaviour, result, evidence.
const { setTimeout: pause } = require('node:timers/promises');
const { Duration, PubSub } = require('@google-cloud/pubsub');
const { version } = require('@google-cloud/pubsub/package.json');
const grpc = require('google-gax').grpc;

const PROJECT = 'node';
const SOON_MS = 60_000;
const LEASE_S = 10; // the shortest that a client can ask for
const AT_ONCE = 8;

const pubsub = new PubSub({ projectId: PROJECT });

const topicName = (name) => `projects/${PROJECT}/topics/${name}`;
const subscriptionName = (name) => `projects/${PROJECT}/subscriptions/${name}-sub`;
const texts = (count, letter = 'm') => Array.from({ length: count }, (_, i) => `${letter}${i}`);

class NotServed extends Error {}

// A topic and its subscription.
async function make(name, fields = {}) {
  await pubsub.createTopic(topicName(name));
  await pubsub.topic(topicName(name)).createSubscription(
    subscriptionName(name), { ackDeadlineSeconds: LEASE_S, ...fields });
}

function publish(name, list, { attributes = {}, orderingKey } = {}) {
  const topic = pubsub.topic(topicName(name), { messageOrdering: Boolean(orderingKey) });
  return Promise.all(list.map((text) => topic.publishMessage({ data: Buffer.from(text), attributes, orderingKey })));
}

// A subscriber with the library's defaults unless options say otherwise; keeps what came.
class Receiver {
  constructor(name, handler, options = {}) {
    this.came = [];
    this.ended = new Promise((resolve) => { this.fail = resolve; });
    this.subscription = pubsub.subscription(subscriptionName(name), options);
    this.subscription.on('error', this.fail);
    this.subscription.on('message', (message) => {
      this.came.push(message);
      if (handler) handler(message);
    });
  }
  texts() { return this.came.map((message) => message.data.toString()); }
  awaitCount(count, limit = SOON_MS) {
    return until(() => this.came.length >= count, () => `${this.came.length} of ${count} messages came`, limit);
  }
}

// Runs use with a receiver that is closed afterwards.
async function receiving(name, handler, use, options) {
  const receiver = new Receiver(name, handler, options);
  try {
    return await use(receiver);
  } finally {
    await receiver.subscription.close();
  }
}

async function until(holds, what = () => 'not reached', limit = SOON_MS) {
  for (const end = Date.now() + limit; !holds(); await pause(20)) {
    if (Date.now() > end) throw new Error(`${what()} within ${limit / 1000} s`);
  }
}

const ack = (message) => message.ack();
const seconds = (since) => ((performance.now() - since) / 1000).toFixed(2);
const only = (statuses) => [...new Set(statuses)].sort().join(', ');

// What the library says of an ack.
async function ackStatus(message) {
  try {
    await message.ackWithResponse();
    return 'success';
  } catch (error) {
    return error.errorCode === 'INVALID' ? 'invalid ack id' : String(error.errorCode ?? error.message);
  }
}

function call(client, method, reqOpts) {
  return new Promise((resolve, reject) =>
    pubsub.request({ client, method, reqOpts }, (error, answer) => (error ? reject(error) : resolve(answer))));
}

const codeOf = (error) => grpc.status[error.code] ?? error.constructor.name;

// The receipt modack asks for 10 s, and nothing extends it.
const SHORT_LEASE = {
  minAckDeadline: Duration.from({ seconds: 10 }),
  maxAckDeadline: Duration.from({ seconds: 10 }),
  maxExtensionTime: Duration.from({ seconds: 1 }),
};

async function publishReceive(name) {
  await make(name);
  return receiving(name, ack, async (receiver) => {
    await publish(name, texts(100), { attributes: { colour: 'grün' } });
    await receiver.awaitCount(100);
    await pause((LEASE_S + 2) * 1000);
    const same = receiver.texts().sort().join() === texts(100).sort().join() &&
      receiver.came.every((message) => message.attributes.colour === 'grün');
    return [same ? 'each once' : 'not each once',
      `${receiver.came.length} deliveries of 100 messages in ${LEASE_S + 2} s`];
  });
}

async function exactlyOnceAck(name) {
  await make(name, { enableExactlyOnceDelivery: true });
  const statuses = [];
  return receiving(name, async (message) => statuses.push(await ackStatus(message)), async (receiver) => {
    await publish(name, texts(20));
    await receiver.awaitCount(20);
    await pause((LEASE_S + 2) * 1000);
    return [only(statuses), `${receiver.came.length} deliveries, ${statuses.length} answers`];
  });
}

// Receives count messages and holds them until their leases have ended.
async function heldPastLease(name, count, use) {
  await make(name, { enableExactlyOnceDelivery: true });
  return receiving(name, null, async (receiver) => {
    await publish(name, texts(count));
    await receiver.awaitCount(count);
    await pause((LEASE_S + 2) * 1000);
    return use(receiver);
  }, { ...SHORT_LEASE, flowControl: { maxMessages: 3000 } });
}

function lateAck(name) {
  return heldPastLease(name, 1, async (receiver) => {
    const begun = performance.now();
    return [await ackStatus(receiver.came[0]), `answered after ${seconds(begun)} s`];
  });
}

function mixedBatch(name) {
  return heldPastLease(name, 1, async (receiver) => {
    await publish(name, ['live']);
    await until(() => receiver.texts().includes('live'));
    const live = receiver.came.find((message) => message.data.toString() === 'live');
    const [first, second] = await Promise.all([ackStatus(receiver.came[0]), ackStatus(live)]);
    return [`late: ${first}; live: ${second}`, 'both acked at the same moment'];
  });
}

function thousandFailed(name) {
  return heldPastLease(name, 1000, async (receiver) => {
    const { SubscriberClient } = pubsub.api;
    const acknowledge = SubscriberClient.acknowledge;
    let calls = 0;
    SubscriberClient.acknowledge = function (request, ...rest) {
      if (request.subscription === subscriptionName(name)) ++calls;
      return acknowledge.call(this, request, ...rest);
    };
    const begun = performance.now();
    const statuses = await Promise.all(receiver.came.slice(0, 1000).map(ackStatus));
    return [only(statuses), `1000 answers in ${seconds(begun)} s, calls: ${calls}`];
  });
}

async function flowControl(name) {
  await make(name);
  let open;
  const gate = new Promise((resolve) => { open = resolve; });
  let inside = 0;
  let most = 0;
  const handler = async (message) => {
    most = Math.max(most, ++inside);
    await gate;
    --inside;
    message.ack();
  };
  return receiving(name, handler, async (receiver) => {
    await publish(name, texts(20));
    await receiver.awaitCount(5);
    await pause(2000);
    const held = receiver.came.length;
    open();
    await receiver.awaitCount(20);
    return [`at most ${most}, then all`, `${held} handed over in 2 s with a limit of 5`];
  }, { flowControl: { maxMessages: 5 } });
}

async function bigMessage(name) {
  await make(name);
  const data = Buffer.alloc(9_000_000, Buffer.from(Array.from({ length: 250 }, (_, i) => i)));
  return receiving(name, ack, async (receiver) => {
    await pubsub.topic(topicName(name)).publishMessage({ data });
    await receiver.awaitCount(1);
    return [receiver.came[0].data.equals(data) ? 'the same bytes' : 'other bytes', `${data.length} bytes`];
  });
}

async function tooBigMessage(name) {
  await make(name);
  await call('PublisherClient', 'publish', { topic: topicName(name), messages: [{ data: Buffer.alloc(10_485_760) }] });
  return ['accepted', ''];
}

async function exactlyOnceSwitch(name) {
  await make(name);
  return receiving(name, null, async (receiver) => {
    await publish(name, ['before']);
    await receiver.awaitCount(1);
    const before = await ackStatus(receiver.came[0]);
    await update(name, ['enable_exactly_once_delivery'], { enableExactlyOnceDelivery: true });
    await publish(name, ['after']);
    await receiver.awaitCount(2);
    await pause((LEASE_S + 2) * 1000);
    const after = await ackStatus(receiver.came[1]);
    return [`before: ${before}; after, too late: ${after}`, 'the stream stayed open'];
  }, SHORT_LEASE);
}

function update(name, paths, fields) {
  return call('SubscriberClient', 'updateSubscription', {
    subscription: { name: subscriptionName(name), ...fields }, updateMask: { paths } });
}

// Whether the last time that each came follows the order of publishing.
function inOrder(list, count) {
  const last = texts(count).map((text) => list.lastIndexOf(text));
  return last.every((at, i) => at >= 0 && (i === 0 || at > last[i - 1])) ? 'in order' : 'out of order';
}

async function orderingNack(name) {
  await make(name, { enableMessageOrdering: true });
  const acked = [];
  let nacked = false;
  const handler = (message) => {
    const text = message.data.toString();
    if (text === 'm1' && !nacked) {
      nacked = true;
      message.nack();
    } else {
      acked.push(text);
      message.ack();
    }
  };
  return receiving(name, handler, async (receiver) => {
    await publish(name, texts(5), { orderingKey: 'k' });
    await until(() => new Set(acked).size === 5 && inOrder(acked, 5) === 'in order', () => acked.join(' '));
    return ['in order', receiver.texts().join(' ')];
  });
}

async function orderingCrash(name) {
  await make(name, { enableMessageOrdering: true });
  await publish(name, texts(5), { orderingKey: 'k' });
  // A consumer that dies with what it has: nothing is acked, nothing given back.
  const died = await call('SubscriberClient', 'pull', { subscription: subscriptionName(name), maxMessages: 2 });
  return receiving(name, ack, async (receiver) => {
    await until(() => new Set(receiver.texts()).size === 5);
    return [inOrder(receiver.texts(), 5), `${died.receivedMessages.length} died; ${receiver.texts().join(' ')}`];
  });
}

async function deadLetter(name) {
  await make(`${name}-dead`);
  await make(name, { deadLetterPolicy: { deadLetterTopic: topicName(`${name}-dead`), maxDeliveryAttempts: 5 } });
  const attempts = [];
  const refuse = (message) => {
    attempts.push(message.deliveryAttempt);
    message.nack();
  };
  return receiving(name, refuse, () => receiving(`${name}-dead`, ack, async (dead) => {
    await publish(name, ['m0']);
    await dead.awaitCount(1);
    const attributes = dead.came[0].attributes;
    return [`attempts ${attempts.join(' ')}, then dead with count ${attributes.CloudPubSubDeadLetterSourceDeliveryCount}`,
      Object.keys(attributes).sort().join(', ')];
  }));
}

async function retryPolicy(name) {
  await make(name, { retryPolicy: { minimumBackoff: { seconds: 2 }, maximumBackoff: { seconds: 3 } } });
  const times = [];
  const handler = (message) => {
    times.push(performance.now() / 1000);
    if (times.length < 3) message.nack(); else message.ack();
  };
  return receiving(name, handler, async (receiver) => {
    await publish(name, ['m0']);
    await receiver.awaitCount(3);
    const gaps = times.slice(1).map((at, i) => at - times[i]);
    return [gaps.every((gap) => gap >= 2 && gap <= 4) ? 'within 2 to 4 s' : 'outside',
      gaps.map((gap) => gap.toFixed(2)).join(' s, ')];
  });
}

async function filtered(name) {
  await make(name, { filter: 'attributes.colour = "red" AND NOT attributes:hidden' });
  return receiving(name, ack, async (receiver) => {
    await publish(name, ['blue'], { attributes: { colour: 'blue' } });
    await publish(name, ['hidden'], { attributes: { colour: 'red', hidden: '' } });
    await publish(name, ['red'], { attributes: { colour: 'red' } });
    await receiver.awaitCount(1);
    await pause(1000);
    return [receiver.texts().join(' '), 'of blue, hidden, red'];
  });
}

function soughtAgain(name, where) {
  return receiving(name, ack, async (receiver) => {
    await receiver.awaitCount(2);
    await pause(1000);
    await pubsub.subscription(subscriptionName(name)).seek(where);
    await receiver.awaitCount(4);
    return ['again', receiver.texts().join(' ')];
  });
}

async function seekTime(name) {
  await make(name, { retainAckedMessages: true });
  const begun = new Date();
  await publish(name, ['m0', 'm1']);
  return soughtAgain(name, begun);
}

async function seekSnapshot(name) {
  await make(name);
  await publish(name, ['m0', 'm1']);
  await pubsub.subscription(subscriptionName(name)).createSnapshot(name);
  return soughtAgain(name, name);
}

async function paging() {
  const other = new PubSub({ projectId: `${PROJECT}-paging` });
  for (let i = 0; i < 25; ++i) await other.createTopic(`t${String(i).padStart(2, '0')}`);
  const sizes = [];
  for (let query = { pageSize: 10, autoPaginate: false }; query; ) {
    const [topics, next] = await other.getTopics(query);
    sizes.push(topics.length);
    query = next?.pageToken ? { ...next, autoPaginate: false } : undefined;
  }
  return [`pages of ${sizes.join(' ')}`, `${sizes.reduce((a, b) => a + b, 0)} topics`];
}

async function masks(name) {
  await make(name, { labels: { a: '1' } });
  const after = await update(name, ['ack_deadline_seconds'], { ackDeadlineSeconds: 77, labels: { b: '2' } });
  const unknown = await update(name, ['no_such_field'], { ackDeadlineSeconds: 78 }).then(() => 'accepted', codeOf);
  return [`deadline ${after.ackDeadlineSeconds}, labels ${after.labels.a ?? '-'} ${after.labels.b ?? '-'}; ` +
    `unknown: ${unknown}`, ''];
}

async function adminErrors(name) {
  await make(name);
  const codes = [];
  for (const attempt of [
    () => pubsub.createTopic(topicName(name)),
    () => pubsub.subscription(subscriptionName('none')).getMetadata(),
    () => pubsub.createTopic(`projects/${PROJECT}/topics/goog-x`),
    () => call('PublisherClient', 'publish', { topic: topicName('none'), messages: [{ data: Buffer.from('x') }] }),
  ]) codes.push(await attempt().then(() => 'OK', codeOf));
  return [codes.join(' '), ''];
}

async function deletedWhileOpen(name) {
  await make(name);
  const receiver = new Receiver(name, ack);
  await publish(name, ['m0']);
  await receiver.awaitCount(1);
  await pause(1000);
  await pubsub.subscription(subscriptionName(name)).delete();
  const error = await Promise.race([receiver.ended, pause(SOON_MS)]);
  return error ? [codeOf(error), error.message] : ['ended without an error', ''];
}

// Asks who runs us for something that a client cannot do, such as a restart of the broker.
async function control(path, want) {
  const answer = await (await fetch(process.env.HOPGAP_CONTROL + path, { method: 'POST' })).text();
  if (answer !== want) throw new NotServed(answer);
}

async function restarted(name, how) {
  await make(name);
  return receiving(name, ack, async (receiver) => {
    await publish(name, texts(20, 'a'));
    await receiver.awaitCount(1);
    const late = publish(name, texts(20, 'b'));
    await control(how, 'restarted');
    await late;
    await publish(name, texts(20, 'c'));
    // What was on its way when the broker went comes again when its lease has ended, 60 s later.
    const different = () => new Set(receiver.texts()).size;
    await until(() => different() === 60, () => `${different()} of 60 came`, 2 * SOON_MS);
    return ['none lost', `60 messages, ${receiver.came.length - 60} delivered again`];
  });
}

async function replyLost(name) {
  await make(name, { enableExactlyOnceDelivery: true });
  return receiving(name, null, async (receiver) => {
    await publish(name, ['m0']);
    await receiver.awaitCount(1);
    await control(`/lose-reply?subscription=${subscriptionName(name)}`, 'armed');
    const begun = performance.now();
    const status = await ackStatus(receiver.came[0]);
    const answered = seconds(begun);
    await control('/was-lost', 'lost');
    await pause((LEASE_S + 2) * 1000);
    const times = receiver.came.length === 1 ? 'once' : `${receiver.came.length} times`;
    return [`${status}, handed over ${times}`, `answered after ${answered} s`];
  });
}

async function transientFailure(name) {
  await make(name, { enableExactlyOnceDelivery: true });
  await control(`/fail-acks?subscription=${subscriptionName(name)}`, 'armed');
  return receiving(name, null, async (receiver) => {
    await publish(name, ['m0']);
    await receiver.awaitCount(1);
    const begun = performance.now();
    return [await ackStatus(receiver.came[0]), `answered after ${seconds(begun)} s`];
  });
}

async function streamRecycle(name) {
  await make(name);
  return receiving(name, ack, async (receiver) => {
    await publish(name, ['m0']);
    await receiver.awaitCount(1);
    await control(`/recycle?subscription=${subscriptionName(name)}`, 'recycled');
    const begun = performance.now();
    await publish(name, ['m1']);
    await until(() => receiver.texts().includes('m1'));
    return ['received', `${seconds(begun)} s after the stream was closed`];
  });
}

async function idle(name) {
  await make(name, { enableExactlyOnceDelivery: true });
  return receiving(name, null, async (receiver) => {
    await pause(600_000);
    const begun = performance.now();
    await publish(name, ['m0']);
    await receiver.awaitCount(1);
    const came = seconds(begun);
    return [await ackStatus(receiver.came[0]), `received ${came} s after ten idle minutes`];
  });
}

const BEHAVIOURS = {
  'publish-receive': publishReceive,
  'exactly-once-ack': exactlyOnceAck,
  'late-ack': lateAck,
  'mixed-batch': mixedBatch,
  'thousand-failed-ids': thousandFailed,
  'exactly-once-switch': exactlyOnceSwitch,
  'flow-control': flowControl,
  'message-9mb': bigMessage,
  'message-too-big': tooBigMessage,
  'ordering-nack': orderingNack,
  'ordering-crash': orderingCrash,
  'dead-letter': deadLetter,
  'retry-policy': retryPolicy,
  'filter': filtered,
  'seek-time': seekTime,
  'seek-snapshot': seekSnapshot,
  'paging': paging,
  'masks': masks,
  'admin-errors': adminErrors,
  'deleted-while-open': deletedWhileOpen,
  'transient-ack-failure': transientFailure,
  'stream-recycle': streamRecycle,
  'ack-reply-lost': replyLost,
  'server-restart': (name) => restarted(name, '/restart'),
  'server-crash': (name) => restarted(name, '/crash'),
  'idle': idle,
};

async function run(behaviour) {
  let result, evidence;
  try {
    [result, evidence] = await BEHAVIOURS[behaviour](behaviour);
  } catch (error) {
    const missing = error instanceof NotServed || error.code === grpc.status.UNIMPLEMENTED;
    [result, evidence] = [missing ? 'not served' : codeOf(error), error.message];
  }
  console.log(JSON.stringify({ client: 'node', version, behaviour, result, evidence }));
}

async function main() {
  const left = process.argv.slice(2);
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left.length) await run(left.shift());
  }));
}

main().then(() => process.exit(0));
