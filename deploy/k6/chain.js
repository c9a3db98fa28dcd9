// The published load: a constant arrival rate on each chain's POST /send, all chains side by side.
//
//   CHAINS    NAME=URL,NAME=URL…   which chains; std and eos on this machine
//   RATE      1                    messages per second on each chain
//   DURATION  30s                  for how long; at 1/s k6 begins 31 iterations in 30 s
//   BYTES     64                   size of a message
//   VUS       8                    messages under way at once, per chain, before k6 adds more
//   MAX_VUS   64                   and at most; beyond, k6 drops the message and this run fails
//
// /send answers when the publish has its result, not when the chain has ended: its time is the publish's. The latency
// of a chain comes from the traces, so each request begins one and the reply has to continue it.
import http from 'k6/http';
import { check } from 'k6';
import { randomBytes } from 'k6/crypto';
import exec from 'k6/execution';

const chains = parseChains(__ENV.CHAINS || 'std=http://127.0.0.1:8080/send,eos=http://127.0.0.1:8081/send');
const payloadBytes = wholeNumber('BYTES', 64);

export const options = {
  scenarios: Object.fromEntries(
    chains.map(({ name, url }) => [
      name,
      {
        executor: 'constant-arrival-rate',
        rate: wholeNumber('RATE', 1),
        timeUnit: '1s',
        duration: __ENV.DURATION || '30s',
        preAllocatedVUs: wholeNumber('VUS', 8),
        maxVUs: wholeNumber('MAX_VUS', 64),
        gracefulStop: '10s',
        env: { CHAIN: name, URL: url },
      },
    ]),
  ),
  thresholds: thresholds(),
  summaryTrendStats: ['min', 'med', 'p(95)', 'max', 'count'],
  // A redirect would be another server's answer.
  maxRedirects: 0,
};

export default function () {
  const trace = hex(randomBytes(16));
  const response = http.post(__ENV.URL, payload(), {
    headers: { 'Content-Type': 'application/json', traceparent: `00-${trace}-${hex(randomBytes(8))}-01` },
    timeout: '10s',
  });
  const reply = response.status === 200 ? parsed(response) : {};
  check(response, {
    'answered 200': (r) => r.status === 200,
    'has a message id': () => typeof reply.message_id === 'string' && reply.message_id !== '',
    'continues our trace': () => reply.trace_id === trace,
  });
}

// One message that was not sent as asked makes the run another experiment than the one it says it is. One line per
// chain, so that the summary says which.
function thresholds() {
  const wanted = { dropped_iterations: ['count==0'] };
  for (const { name } of chains) {
    wanted[`http_req_failed{scenario:${name}}`] = ['rate==0'];
    wanted[`checks{scenario:${name}}`] = ['rate==1'];
    wanted[`http_req_duration{scenario:${name}}`] = ['max<10000'];
    wanted[`iterations{scenario:${name}}`] = ['count>0'];
  }
  return wanted;
}

function payload() {
  const text = JSON.stringify({ chain: __ENV.CHAIN, iteration: exec.scenario.iterationInTest, pad: '' });
  return text.replace('"pad":""', `"pad":"${'.'.repeat(Math.max(0, payloadBytes - text.length))}"`);
}

function parsed(response) {
  try {
    return response.json() || {};
  } catch (error) {
    return {}; // not JSON: the checks say so
  }
}

function parseChains(text) {
  return text.split(',').map((part) => {
    const at = part.indexOf('=');
    const name = part.slice(0, at);
    if (at < 1 || !/^[A-Za-z0-9_-]+$/.test(name)) throw new Error(`CHAINS: '${part}' is not NAME=URL`);
    return { name, url: part.slice(at + 1) };
  });
}

function wholeNumber(name, otherwise) {
  const text = __ENV[name];
  if (text === undefined || text === '') return otherwise;
  if (!/^[1-9][0-9]*$/.test(text)) throw new Error(`${name}: '${text}' is not a whole number of 1 or more`);
  return Number(text);
}

function hex(buffer) {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
