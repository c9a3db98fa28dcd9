"""Publishes a chain's first messages with the official Python client: HOPGAP_MESSAGES of them, HOPGAP_RATE a second."""

import os
import sys
import time

from google.cloud import pubsub_v1

import settings
import tracing


def main() -> int:
    topic = os.environ["HOPGAP_NEXT_TOPIC"]
    messages, rate = int(os.environ["HOPGAP_MESSAGES"]), float(os.environ["HOPGAP_RATE"])
    flush = tracing.start(settings.otlp_protocol(lambda name: os.environ.get(name, "")))
    publisher = pubsub_v1.PublisherClient(
        publisher_options=pubsub_v1.types.PublisherOptions(enable_open_telemetry_tracing=True)
    )
    start = time.monotonic() + 0.1
    results = []
    for slot in range(messages):
        time.sleep(max(0, start + slot / rate - time.monotonic()))
        results.append(publisher.publish(topic, b"hello", hopgap_draw=f"1.{slot}"))
    for result in results:
        result.result()
    publisher.stop()
    flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
