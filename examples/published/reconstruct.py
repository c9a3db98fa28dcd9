#!/usr/bin/env python3
"""Writes the two traces of the published experiment again, as Cloud Trace v1 JSON.

Known from its text: both totals, the first subscribe span of each, 200 ms of
work in each of three hops. Everything else here is made up so that it adds up.
"""
import datetime
import json

START = datetime.datetime(2026, 5, 7, 10, 0, 0, tzinfo=datetime.timezone.utc)
SCOPE = {"otel.scope.name": "cloud.google.com/go/pubsub/v2", "otel.scope.version": "2.7.0",
         "g.co/agent": "reconstruction by hopgap, no recording"}


def stamp(ms):
    return (START + datetime.timedelta(microseconds=round(ms * 1000))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Trace:
    def __init__(self, number, arm):
        self.trace = {"projectId": "reconstruction", "traceId": f"{number:032x}", "spans": []}
        self.arm, self.next = arm, number * 1000

    def span(self, name, parent, start, end, service, labels=None):
        self.next += 1
        self.trace["spans"].append({
            "spanId": str(self.next), "parentSpanId": str(parent), "name": name, "startTime": stamp(start),
            "endTime": stamp(end), "labels": {**SCOPE, "service.name": service, **(labels or {})}})
        return self.next

    def chain(self, create_ms, gaps, dispatches, acks):
        at, parent, service = 0.0, 0, f"api-{self.arm}"
        for hop, (gap, dispatch, ack) in enumerate(zip(gaps, dispatches, acks), 1):
            topic, last = f"{self.arm}-{hop}", hop == len(gaps)
            create = self.span(f"{topic} create", parent, at, at + create_ms, service,
                               {"messaging.destination.name": topic})
            self.span("publisher flow control", create, at, at + 0.01, service)
            self.span("publisher batching", create, at + 0.01, at + 10.2, service)
            received = at + create_ms + gap
            callback = received + dispatch
            ack_called = callback + 200 + (0 if last else create_ms)
            service = f"worker-{self.arm}-{hop}"
            subscribe = self.span(f"{topic}-sub subscribe", create, received, ack_called + ack, service, {
                "messaging.destination.name": f"{topic}-sub", "messaging.gcp_pubsub.result": "acked",
                "messaging.gcp_pubsub.exactly_once_delivery": "true" if self.arm == "eos" else "false"})
            self.span("subscriber concurrency control", subscribe, callback - 0.1, callback - 0.08, service)
            self.span("subscribe scheduler", subscribe, callback - 0.08, callback, service)
            parent = self.span(f"{topic}-sub process", subscribe, callback, ack_called, service)
            at = callback + 200
        return self.trace


eos = Trace(1, "eos").chain(37, (118, 124, 128), (996, 560, 515), (70, 64, 60))
std = Trace(2, "std").chain(35, (-4, -3, -3), (1.2, 1.2, 1.2), (27.8, 41, 66.3))
with open("traces.json", "w", encoding="utf-8") as file:
    json.dump({"traces": [eos, std]}, file, indent=1)
    file.write("\n")
