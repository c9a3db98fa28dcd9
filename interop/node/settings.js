'use strict';
// The variables of docs/worker-contract.md, checked.

// The limits of hopgap worker's flags of the same names.
const MAX_STREAMS = 100;
const MAX_OUTSTANDING = 1_000_000;

const UNITS_MS = { ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, m: 60e3, h: 3600e3 };

// Reads the environment; an error names the variable, its value and what is allowed.
function readSettings(environment) {
  const text = (name) => environment[name] || '';
  const settings = {
    subscription: text('HOPGAP_SUBSCRIPTION'), // full name
    nextTopic: text('HOPGAP_NEXT_TOPIC'), // full name; empty at the last hop
    workMs: durationMs('HOPGAP_WORK', text('HOPGAP_WORK') || '200ms'),
    streams: count('HOPGAP_STREAMS', text('HOPGAP_STREAMS') || '4', MAX_STREAMS),
    maxOutstanding: count(
      'HOPGAP_MAX_OUTSTANDING_MESSAGES', text('HOPGAP_MAX_OUTSTANDING_MESSAGES') || '1000', MAX_OUTSTANDING),
    arm: text('HOPGAP_ARM'),
    hop: text('HOPGAP_HOP'),
    otlpProtocol: otlpProtocol(text), // grpc or http/protobuf; empty: spans go nowhere
  };
  settings.project = projectOf('HOPGAP_SUBSCRIPTION', settings.subscription, 'subscriptions');
  if (settings.nextTopic) projectOf('HOPGAP_NEXT_TOPIC', settings.nextTopic, 'topics');
  const publish = text('HOPGAP_PUBLISH') || 'await';
  if (publish !== 'await' && publish !== 'fire') {
    throw new Error(`HOPGAP_PUBLISH: '${publish}' is neither await nor fire`);
  }
  settings.awaitPublish = publish === 'await';
  return settings;
}

// How spans leave: the traces' own variables win over the general ones, as the exporter specification has it.
function otlpProtocol(text) {
  if (!text('OTEL_EXPORTER_OTLP_ENDPOINT') && !text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')) return '';
  const traces = 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const variable = text(traces) ? traces : 'OTEL_EXPORTER_OTLP_PROTOCOL';
  const protocol = text(variable) || 'grpc';
  if (protocol !== 'grpc' && protocol !== 'http/protobuf') {
    throw new Error(`${variable}: '${protocol}' is neither grpc nor http/protobuf`);
  }
  return protocol;
}

// Turns "H.S" into "(H+1).S"; anything else stays as it is.
function nextDraw(draw) {
  const parts = /^([0-9]{1,9})\.(.*)$/s.exec(draw);
  return parts ? `${Number(parts[1]) + 1}.${parts[2]}` : draw;
}

function projectOf(variable, name, kind) {
  const parts = new RegExp(`^projects/([^/]+)/${kind}/[^/]+$`).exec(name);
  if (!parts) throw new Error(`${variable}: '${name}' is not projects/PROJECT/${kind}/ID`);
  return parts[1];
}

function durationMs(variable, text) {
  if (text === '0') return 0;
  const parts = [...text.matchAll(/([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)/g)];
  if (!parts.length || parts.map((part) => part[0]).join('') !== text) {
    throw new Error(`${variable}: '${text}' is not 0 or a number with ns, us, ms, s, m or h`);
  }
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS_MS[unit], 0);
}

function count(variable, text, limit) {
  if (!/^[0-9]+$/.test(text) || Number(text) < 1 || Number(text) > limit) {
    throw new Error(`${variable}: '${text}' is not a whole number in [1, ${limit}]`);
  }
  return Number(text);
}

module.exports = { readSettings, otlpProtocol, nextDraw };
