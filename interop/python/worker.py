"""One hop of a chain, written with the official Python client. It keeps docs/worker-contract.md."""

import signal

# Before anything that takes time or starts threads, which inherit the mask: a signal that reached a thread of gRPC would
# not wake the main thread.
STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)

import concurrent.futures  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

from google.api_core import exceptions  # noqa: E402
from google.cloud import pubsub_v1  # noqa: E402
from google.cloud.pubsub_v1.subscriber import scheduler  # noqa: E402
from opentelemetry import trace  # noqa: E402

import settings  # noqa: E402
import tracing  # noqa: E402

DRAW_ATTRIBUTE = "hopgap_draw"  # from which hopgap draws the delays it adds: "HOP.SLOT"
DRAIN_LIMIT_S = 25  # the contract gives 30 s; the last spans get the rest
RETRY_PAUSE_S = 0.25
PROBE_TIMEOUT_S = 5
# The library runs callbacks on 10 threads a stream, where others have no such bound.
THREADS_PER_STREAM = 100

log = logging.getLogger("worker")


class Worker:
    def __init__(self, config: settings.Settings, publisher: pubsub_v1.PublisherClient | None):
        self._config = config
        self._publisher = publisher
        self._tracer = trace.get_tracer("hopgap/interop/python/worker")

    def handle(self, message: pubsub_v1.subscriber.message.Message) -> None:
        """One handler: work, publish on, ack."""
        # The library ends the process span itself, but does not make it current, and offers no way to it.
        process = message.opentelemetry_data._process_span
        with trace.use_span(process, end_on_exit=False):
            with self._tracer.start_as_current_span(f"worker.stage{self._config.hop}.process"):
                time.sleep(self._config.work_s)
            if self._publisher is not None and not self._publish_on(message):
                message.nack()
                return
        message.ack()

    def _publish_on(self, message: pubsub_v1.subscriber.message.Message) -> bool:
        # googclient_ attributes are those of the message that came; the library writes those of the new create span.
        attributes = {key: value for key, value in message.attributes.items() if not key.startswith("googclient_")}
        if DRAW_ATTRIBUTE in attributes:
            attributes[DRAW_ATTRIBUTE] = settings.next_draw(attributes[DRAW_ATTRIBUTE])
        try:
            result = self._publisher.publish(self._config.next_topic, message.data, **attributes)
            if self._config.await_publish:
                result.result()
            else:
                result.add_done_callback(_say_if_lost)
        except Exception as error:  # whatever the library raises, the message was not published
            log.error("publish failed, so the message %s is nacked: %s", message.message_id, error)
            return False
        return True


def _say_if_lost(result: concurrent.futures.Future) -> None:
    """fire gives no other answer."""
    if result.exception() is not None:
        log.error("publish failed after the ack; the message is lost: %s", result.exception())


def await_broker(subscriber: pubsub_v1.SubscriberClient, subscription: str, stopped: threading.Event) -> None:
    """Returns once the broker answers; raises when its answer is that the subscription is not there.

    A role that may consume but not look is an answer too.
    """
    told = False
    while not stopped.is_set():
        try:
            subscriber.get_subscription(subscription=subscription, retry=None, timeout=PROBE_TIMEOUT_S)
            return
        except exceptions.PermissionDenied:
            return
        except (exceptions.ServiceUnavailable, exceptions.DeadlineExceeded) as error:
            if not told:
                log.warning("the broker does not answer yet; trying on: %s", error)
            told = True
        stopped.wait(RETRY_PAUSE_S)


def receive(
    config: settings.Settings, subscriber: pubsub_v1.SubscriberClient, worker: Worker, stopped: threading.Event
) -> None:
    """Works the subscription until stopped, then drains: what runs ends, its acks leave, what waits is nacked."""
    # One subscribe() is one stream.
    streams = [
        subscriber.subscribe(
            config.subscription,
            callback=worker.handle,
            flow_control=pubsub_v1.types.FlowControl(max_messages=config.max_outstanding),
            scheduler=scheduler.ThreadScheduler(
                concurrent.futures.ThreadPoolExecutor(max_workers=min(config.max_outstanding, THREADS_PER_STREAM))
            ),
            await_callbacks_on_shutdown=True,
        )
        for _ in range(config.streams)
    ]
    for stream in streams:
        stream.add_done_callback(lambda _: stopped.set())
    log.info("receiving %s, next %s, streams %d", config.subscription, config.next_topic or "none", config.streams)
    stopped.wait()
    log.info("draining")
    end = time.monotonic() + DRAIN_LIMIT_S
    for stream in streams:
        stream.cancel()
    for stream in streams:
        stream.result(timeout=max(0, end - time.monotonic()))


def run() -> None:
    config = settings.read(lambda name: os.environ.get(name, ""))
    stopped = threading.Event()
    threading.Thread(target=lambda: (signal.sigwait(STOP_SIGNALS), stopped.set()), daemon=True).start()
    flush = tracing.start(config.otlp_protocol)
    publisher = None
    if config.next_topic:
        publisher = pubsub_v1.PublisherClient(
            publisher_options=pubsub_v1.types.PublisherOptions(enable_open_telemetry_tracing=True)
        )
    subscriber = pubsub_v1.SubscriberClient(
        subscriber_options=pubsub_v1.types.SubscriberOptions(enable_open_telemetry_tracing=True)
    )
    await_broker(subscriber, config.subscription, stopped)
    try:
        if not stopped.is_set():
            receive(config, subscriber, Worker(config, publisher), stopped)
    finally:
        if publisher is not None:
            publisher.stop()  # sends what fire left behind
        flush()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("google").setLevel(logging.WARNING)
    try:
        run()
    except settings.WrongSetting as error:
        log.error("%s", error)
        return 1
    except Exception:
        log.exception("worker failed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
