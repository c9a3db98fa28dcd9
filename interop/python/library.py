"""The official Python client as behaviours.py uses it: clients, resources, a receiver that keeps what came."""

import os
import threading
import time
import urllib.request
from concurrent import futures

from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber import scheduler

PROJECT = "python"
SOON_S = 60
LEASE_S = 10  # the shortest that a client can ask for

publisher = pubsub_v1.PublisherClient()
ordered_publisher = pubsub_v1.PublisherClient(
    publisher_options=pubsub_v1.types.PublisherOptions(enable_message_ordering=True)
)
subscriber = pubsub_v1.SubscriberClient()


def topic_name(name):
    return f"projects/{PROJECT}/topics/{name}"


def subscription_name(name):
    return f"projects/{PROJECT}/subscriptions/{name}-sub"


def make(name, **fields):
    """A topic and its subscription."""
    publisher.create_topic(name=topic_name(name))
    request = {"name": subscription_name(name), "topic": topic_name(name), "ack_deadline_seconds": LEASE_S, **fields}
    subscriber.create_subscription(request=request)


def publish(name, *texts, key="", **attributes):
    client = ordered_publisher if key else publisher
    results = [client.publish(topic_name(name), text.encode(), ordering_key=key, **attributes) for text in texts]
    return [result.result(SOON_S) for result in results]


class Receiver:
    """A subscriber with the library's defaults unless flow says otherwise; keeps what came."""

    def __init__(self, name, handler, flow=None, threads=10):
        self.came, self._handler, self._changed = [], handler, threading.Condition()
        pool = scheduler.ThreadScheduler(futures.ThreadPoolExecutor(max_workers=threads)) if threads != 10 else None
        self._future = subscriber.subscribe(
            subscription_name(name),
            callback=self._take,
            flow_control=pubsub_v1.types.FlowControl(**(flow or {})),
            scheduler=pool,
        )

    def _take(self, message):
        with self._changed:
            self.came.append(message)
            self._changed.notify_all()
        if self._handler is not None:
            self._handler(message)

    def await_count(self, count, limit_s=SOON_S):
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.came) >= count, limit_s):
                raise AssertionError(f"{len(self.came)} of {count} messages came within {limit_s} s")

    def texts(self):
        with self._changed:
            return [message.data.decode() for message in self.came]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._future.cancel()
        try:
            self._future.result(SOON_S)
        except exceptions.GoogleAPICallError:
            pass  # the subscription may be gone


def ack_status(message):
    """What the library says of an ack."""
    try:
        message.ack_with_response().result(SOON_S)
        return "success"
    except Exception as error:
        return status_of(error)


def status_of(error):
    code = getattr(error, "error_code", None)
    return {"AcknowledgeStatus.INVALID_ACK_ID": "invalid ack id"}.get(str(code), str(code or error))


def ack(message):
    message.ack()


def wait_until(holds, limit_s=SOON_S):
    end = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s")
        time.sleep(0.05)


class NotServed(Exception):
    pass


def control(path, want):
    """Asks who runs us for something that a client cannot do, such as a restart of the broker."""
    request = urllib.request.Request(os.environ["HOPGAP_CONTROL"] + path, method="POST")
    with urllib.request.urlopen(request, timeout=SOON_S) as answer:
        said = answer.read().decode()
    if said != want:
        raise NotServed(said)
