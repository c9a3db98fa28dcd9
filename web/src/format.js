// How numbers look, as in hopgap's terminal output: about three digits, a real minus sign.

const minus = (text) => text.replace("-", "−");

export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value === "inf") return "∞";
  if (value === "-inf") return "−∞";
  const size = Math.abs(value);
  if (value === 0) return "0";
  const text = value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
  return Number(text) === 0 ? "0.00" : minus(text);
}

export function signed(value) {
  return typeof value === "number" && value > 0 ? `+${ms(value)}` : value === "inf" ? "+∞" : ms(value);
}

// With its unit; from 10 s on in seconds.
export function length(value) {
  if (typeof value !== "number") return ms(value);
  return Math.abs(value) >= 10000 ? `${minus((value / 1000).toFixed(1))} s` : `${ms(value)} ms`;
}

export function nanos(value) {
  return length(value / 1e6);
}

export function interval(low, high, show = ms) {
  return `[${low === null ? "none" : show(low)}, ${high === null ? "none" : show(high)}]`;
}

export function percent(share) {
  return `${minus((100 * share).toFixed(Math.abs(share) < 0.0995 ? 1 : 0))} %`;
}

export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// An axis in milliseconds that reads well at any size.
export function axis(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  if (size >= 1000) return minus(`${+(value / 1000).toPrecision(4)} s`);
  return minus(`${+value.toPrecision(3)} ms`);
}

// 1, 2 or 5 times a power of ten, at least `least`.
export function step(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}
