'use strict';
// Publishes a chain's first messages with the official Node.js client: HOPGAP_MESSAGES of them, HOPGAP_RATE a second.
const { setTimeout: pause } = require('node:timers/promises');
const { PubSub } = require('@google-cloud/pubsub');
const { otlpProtocol } = require('./settings');
const { startTracing } = require('./tracing');

async function main() {
  const name = process.env.HOPGAP_NEXT_TOPIC;
  const messages = Number(process.env.HOPGAP_MESSAGES);
  const periodMs = 1000 / Number(process.env.HOPGAP_RATE);
  const flush = startTracing(otlpProtocol((variable) => process.env[variable] || ''));
  const topic = new PubSub({ projectId: name.split('/')[1], enableOpenTelemetryTracing: true }).topic(name);
  const start = performance.now() + 100;
  const results = [];
  for (let slot = 0; slot < messages; ++slot) {
    await pause(Math.max(0, start + slot * periodMs - performance.now()));
    results.push(topic.publishMessage({ data: Buffer.from('hello'), attributes: { hopgap_draw: `1.${slot}` } }));
  }
  await Promise.all(results);
  await flush();
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(`sender failed: ${error.message}`);
    process.exit(1);
  });
