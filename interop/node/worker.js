'use strict';
// One hop of a chain, written with the official Node.js client. It keeps docs/worker-contract.md.
const { setTimeout: pause } = require('node:timers/promises');
const { Duration, PubSub, SubscriptionCloseBehaviors } = require('@google-cloud/pubsub');
const { context, trace } = require('@opentelemetry/api');
const { nextDraw, readSettings } = require('./settings');
const { startTracing } = require('./tracing');

const DRAW_ATTRIBUTE = 'hopgap_draw'; // from which hopgap draws the delays it adds: "HOP.SLOT"
const DRAIN_LIMIT_S = 25; // the contract gives 30 s; the last spans get the rest
const FLUSH_LIMIT_MS = 3000;
const RETRY_PAUSE_MS = 250;
const PROBE_TIMEOUT_MS = 5000;
const PERMISSION_DENIED = 7, DEADLINE_EXCEEDED = 4, UNAVAILABLE = 14; // gRPC's

const log = (text) => console.error(`${new Date().toISOString()} ${text}`);

// One handler: work, publish on, ack.
async function handle(settings, topic, message) {
  // The library ends the process span itself, but does not make it current, and offers no way to it.
  const process = message.subSpans.processing;
  const within = trace.setSpan(context.active(), process);
  const span = trace.getTracer('hopgap/interop/node/worker').startSpan(
    `worker.stage${settings.hop}.process`, {}, within);
  await pause(settings.workMs);
  span.end();
  if (topic && !(await context.with(within, () => publishOn(settings, topic, message)))) {
    message.nack();
    return;
  }
  message.ack();
}

// Whether the message may be acked.
async function publishOn(settings, topic, message) {
  // googclient_ attributes are those of the message that came; the library writes those of the new create span.
  const attributes = Object.fromEntries(
    Object.entries(message.attributes).filter(([key]) => !key.startsWith('googclient_')));
  if (DRAW_ATTRIBUTE in attributes) attributes[DRAW_ATTRIBUTE] = nextDraw(attributes[DRAW_ATTRIBUTE]);
  const result = topic.publishMessage({ data: message.data, attributes });
  if (!settings.awaitPublish) {
    result.catch((error) => log(`publish failed after the ack; the message is lost: ${error.message}`));
    return true;
  }
  try {
    await result;
    return true;
  } catch (error) {
    log(`publish failed, so the message ${message.id} is nacked: ${error.message}`);
    return false;
  }
}

// Returns once the broker answers; throws when its answer is that the subscription is not there. A role that may
// consume but not look is an answer too.
async function awaitBroker(pubsub, subscription, stopped) {
  for (let told = false; !stopped.signal.aborted; ) {
    try {
      await pubsub.subscription(subscription).getMetadata({ timeout: PROBE_TIMEOUT_MS, retry: null });
      return;
    } catch (error) {
      if (error.code === PERMISSION_DENIED) return;
      if (error.code !== UNAVAILABLE && error.code !== DEADLINE_EXCEEDED) throw error;
      if (!told) log(`the broker does not answer yet; trying on: ${error.message}`);
      told = true;
    }
    await pause(RETRY_PAUSE_MS);
  }
}

// Works the subscription until stopped, then drains: what runs ends, its acks leave, what waits is nacked.
async function receive(settings, pubsub, topic, stopped) {
  const subscription = pubsub.subscription(settings.subscription, {
    flowControl: { maxMessages: settings.maxOutstanding },
    streamingOptions: { maxStreams: settings.streams },
    closeOptions: {
      behavior: SubscriptionCloseBehaviors.WaitForProcessing,
      timeout: Duration.from({ seconds: DRAIN_LIMIT_S }),
    },
  });
  const running = new Set();
  let failure;
  subscription.on('message', (message) => {
    const handler = handle(settings, topic, message).finally(() => running.delete(handler));
    running.add(handler);
  });
  subscription.on('error', (error) => {
    failure = error;
    stopped.abort();
  });
  log(`receiving ${settings.subscription}, next ${settings.nextTopic || 'none'}, streams ${settings.streams}`);
  if (!stopped.signal.aborted) {
    await new Promise((resolve) => stopped.signal.addEventListener('abort', resolve, { once: true }));
  }
  log(`draining, handlers ${running.size}`);
  await subscription.close();
  await Promise.all(running);
  if (topic) await topic.flush(); // sends what fire left behind
  if (failure) throw failure;
}

async function main() {
  const settings = readSettings(process.env);
  const stopped = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stopped.abort());
  const flush = startTracing(settings.otlpProtocol);
  const pubsub = new PubSub({ projectId: settings.project, enableOpenTelemetryTracing: true });
  await awaitBroker(pubsub, settings.subscription, stopped);
  const topic = settings.nextTopic ? pubsub.topic(settings.nextTopic) : undefined;
  if (!stopped.signal.aborted) await receive(settings, pubsub, topic, stopped);
  await Promise.race([flush(), pause(FLUSH_LIMIT_MS)]).catch((error) => log(`the last spans were not sent: ${error.message}`));
}

main().then(
  () => process.exit(0),
  (error) => {
    log(`worker failed: ${error.message}`);
    process.exit(1);
  });
