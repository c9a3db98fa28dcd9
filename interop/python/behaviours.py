"""The behaviours of interop/behaviours/behaviours.toml, with the official Python client.

    behaviours.py ID…

Prints a line of JSON per behaviour: client, version, behaviour, result, evidence.
"""

import importlib.metadata
import json
import sys
import threading
import time
from concurrent import futures

from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.protobuf import duration_pb2, field_mask_pb2, timestamp_pb2
from library import (
    LEASE_S,
    NotServed,
    PROJECT,
    Receiver,
    SOON_S,
    ack,
    ack_status,
    control,
    make,
    publish,
    publisher,
    status_of,
    subscriber,
    subscription_name,
    topic_name,
    wait_until,
)

# The receipt modack asks for 10 s, and nothing extends it.
SHORT_LEASE = {"min_duration_per_lease_extension": 10, "max_duration_per_lease_extension": 10, "max_lease_duration": 1}


def publish_and_receive(name):
    make(name)
    texts = [f"m{i}" for i in range(100)]
    with Receiver(name, ack) as receiver:
        publish(name, *texts, colour="grün")
        receiver.await_count(100)
        time.sleep(LEASE_S + 2)
        got = sorted(receiver.texts())
    same = got == sorted(texts) and all(m.attributes["colour"] == "grün" for m in receiver.came)
    return "each once" if same else "not each once", f"{len(got)} deliveries of 100 messages in {LEASE_S + 2} s"


def exactly_once_ack(name):
    make(name, enable_exactly_once_delivery=True)
    statuses = []
    with Receiver(name, lambda m: statuses.append(ack_status(m))) as receiver:
        publish(name, *[f"m{i}" for i in range(20)])
        receiver.await_count(20)
        time.sleep(LEASE_S + 2)
        return only(statuses), f"{len(receiver.came)} deliveries, {len(statuses)} answers"


def only(statuses):
    return ", ".join(sorted(set(statuses)))


def held_past_lease(name, count):
    """Receives count messages and returns a receiver that holds them until their leases have ended."""
    receiver = Receiver(name, None, {**SHORT_LEASE, "max_messages": 3000}, threads=20)
    publish(name, *[f"m{i}" for i in range(count)])
    receiver.await_count(count)
    time.sleep(LEASE_S + 2)
    return receiver


def late_ack(name):
    make(name, enable_exactly_once_delivery=True)
    with held_past_lease(name, 1) as receiver:
        begun = time.monotonic()
        return ack_status(receiver.came[0]), f"answered after {time.monotonic() - begun:.2f} s"


def mixed_batch(name):
    make(name, enable_exactly_once_delivery=True)
    with held_past_lease(name, 1) as receiver:
        late = receiver.came[0]
        publish(name, "live")
        deadline = time.monotonic() + SOON_S
        while "live" not in receiver.texts() and time.monotonic() < deadline:
            time.sleep(0.05)
        live = next(m for m in receiver.came if m.data == b"live")
        first, second = late.ack_with_response(), live.ack_with_response()
        answers = [status_of(r.exception(SOON_S)) if r.exception(SOON_S) else "success" for r in (first, second)]
    return f"late: {answers[0]}; live: {answers[1]}", "both acked at the same moment"


def thousand_failed(name):
    make(name, enable_exactly_once_delivery=True)
    with held_past_lease(name, 1000) as receiver:
        calls, acknowledge = [], subscriber.acknowledge

        def counted(*arguments, **named):
            if named["subscription"] == subscription_name(name):
                calls.append(len(named["ack_ids"]))
            return acknowledge(*arguments, **named)

        subscriber.acknowledge = counted
        begun = time.monotonic()
        results = [m.ack_with_response() for m in receiver.came[:1000]]
        statuses = [status_of(r.exception(SOON_S)) if r.exception(SOON_S) else "success" for r in results]
        return only(statuses), f"1000 answers in {time.monotonic() - begun:.2f} s, calls: {len(calls)}"


def flow_control(name):
    make(name)
    gate, lock, inside, most = threading.Event(), threading.Lock(), 0, 0

    def handler(message):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        gate.wait(SOON_S)
        with lock:
            inside -= 1
        message.ack()

    with Receiver(name, handler, {"max_messages": 5}) as receiver:
        publish(name, *[f"m{i}" for i in range(20)])
        receiver.await_count(5)
        time.sleep(2)
        held = len(receiver.came)
        gate.set()
        receiver.await_count(20)
    return f"at most {most}, then all", f"{held} handed over in 2 s with a limit of 5"


def big_message(name):
    make(name)
    data = bytes(range(250)) * 36_000
    with Receiver(name, ack) as receiver:
        publisher.publish(topic_name(name), data).result(SOON_S)
        try:
            receiver.await_count(1, 10)
        except AssertionError:
            return "not received", "within 10 s; the library opens stream after stream and says nothing"
        same = receiver.came[0].data == data
    return "the same bytes" if same else "other bytes", f"{len(data)} bytes"


def too_big_message(name):
    make(name)
    try:
        publisher.api.publish(topic=topic_name(name), messages=[{"data": b"x" * 10_485_760}])
        return "accepted", ""
    except exceptions.GoogleAPICallError as error:
        return code_of(error), error.message
    except Exception as error:
        return type(error).__name__, str(error)


def code_of(error):
    return error.grpc_status_code.name if error.grpc_status_code else type(error).__name__


def exactly_once_switch(name):
    make(name)
    with Receiver(name, None, SHORT_LEASE, threads=20) as receiver:
        publish(name, "before")
        receiver.await_count(1)
        before = ack_status(receiver.came[0])
        update(name, ["enable_exactly_once_delivery"], enable_exactly_once_delivery=True)
        publish(name, "after")
        receiver.await_count(2)
        time.sleep(LEASE_S + 2)
        after = ack_status(receiver.came[1])
    return f"before: {before}; after, too late: {after}", "the stream stayed open"


def update(name, paths, **fields):
    return subscriber.update_subscription(
        request={
            "subscription": {"name": subscription_name(name), **fields},
            "update_mask": field_mask_pb2.FieldMask(paths=paths),
        }
    )


def ordering_nack(name):
    make(name, enable_message_ordering=True)
    acked, nacked = [], []

    def handler(message):
        text = message.data.decode()
        if text == "m1" and not nacked:
            nacked.append(text)
            message.nack()
        else:
            acked.append(text)
            message.ack()

    with Receiver(name, handler) as receiver:
        publish(name, *[f"m{i}" for i in range(5)], key="k")
        wait_until(lambda: len(set(acked)) == 5 and in_order(acked, 5))
        seen = receiver.texts()
    return "in order", " ".join(seen)


def in_order(texts, count):
    """Whether the last time that each was acked follows the order of publishing."""
    last = [max(i for i, text in enumerate(texts) if text == f"m{n}") for n in range(count)]
    return last == sorted(last)


def ordering_crash(name):
    make(name, enable_message_ordering=True)
    publish(name, *[f"m{i}" for i in range(5)], key="k")
    # A consumer that dies with what it has: nothing is acked, nothing given back.
    died = subscriber.pull(subscription=subscription_name(name), max_messages=2)
    with Receiver(name, ack) as receiver:
        wait_until(lambda: len(set(receiver.texts())) == 5)
        texts = receiver.texts()
    return "in order" if in_order(texts, 5) else "out of order", f"{len(died.received_messages)} died; {' '.join(texts)}"


def dead_letter(name):
    make(f"{name}-dead")
    policy = {"dead_letter_topic": topic_name(f"{name}-dead"), "max_delivery_attempts": 5}
    make(name, dead_letter_policy=policy)
    attempts = []

    def refuse(message):
        attempts.append(message.delivery_attempt)
        message.nack()

    with Receiver(name, refuse), Receiver(f"{name}-dead", ack) as dead:
        publish(name, "m0")
        dead.await_count(1)
        attributes = dict(dead.came[0].attributes)
    count = attributes.get("CloudPubSubDeadLetterSourceDeliveryCount")
    return f"attempts {' '.join(map(str, attempts))}, then dead with count {count}", ", ".join(sorted(attributes))


def retry_policy(name):
    backoff = {"minimum_backoff": duration_pb2.Duration(seconds=2), "maximum_backoff": duration_pb2.Duration(seconds=3)}
    make(name, retry_policy=backoff)
    times = []

    def handler(message):
        times.append(time.monotonic())
        message.nack() if len(times) < 3 else message.ack()

    with Receiver(name, handler) as receiver:
        publish(name, "m0")
        receiver.await_count(3)
    gaps = [b - a for a, b in zip(times, times[1:])]
    return "within 2 to 4 s" if all(2 <= gap <= 4 for gap in gaps) else "outside", " s, ".join(f"{g:.2f}" for g in gaps)


def filtered(name):
    make(name, filter='attributes.colour = "red" AND NOT attributes:hidden')
    with Receiver(name, ack) as receiver:
        publish(name, "blue", colour="blue")
        publish(name, "hidden", colour="red", hidden="")
        publish(name, "red", colour="red")
        receiver.await_count(1)
        time.sleep(1)
        return " ".join(receiver.texts()), "of blue, hidden, red"


def seek_time(name):
    make(name, retain_acked_messages=True)
    begun = timestamp_pb2.Timestamp()
    begun.GetCurrentTime()
    with Receiver(name, ack) as receiver:
        publish(name, "m0", "m1")
        receiver.await_count(2)
        time.sleep(1)
        subscriber.seek(request={"subscription": subscription_name(name), "time": begun})
        receiver.await_count(4)
        return "again", " ".join(receiver.texts())


def seek_snapshot(name):
    make(name)
    publish(name, "m0", "m1")
    snapshot = f"projects/{PROJECT}/snapshots/{name}"
    subscriber.create_snapshot(request={"name": snapshot, "subscription": subscription_name(name)})
    with Receiver(name, ack) as receiver:
        receiver.await_count(2)
        time.sleep(1)
        subscriber.seek(request={"subscription": subscription_name(name), "snapshot": snapshot})
        receiver.await_count(4)
        return "again", " ".join(receiver.texts())


def paging(name):
    for i in range(25):
        publisher.create_topic(name=f"projects/{PROJECT}-paging/topics/t{i:02}")
    pages = publisher.list_topics(request={"project": f"projects/{PROJECT}-paging", "page_size": 10}).pages
    sizes = [len(page.topics) for page in pages]
    return f"pages of {' '.join(map(str, sizes))}", f"{sum(sizes)} topics"


def masks(name):
    make(name, labels={"a": "1"})
    after = update(name, ["ack_deadline_seconds"], ack_deadline_seconds=77, labels={"b": "2"})
    try:
        update(name, ["no_such_field"], ack_deadline_seconds=78)
        unknown = "accepted"
    except exceptions.GoogleAPICallError as error:
        unknown = code_of(error)
    kept = dict(after.labels)
    return f"deadline {after.ack_deadline_seconds}, labels {kept.get('a')} {kept.get('b')}; unknown: {unknown}".replace(
        "None", "-"
    ), ""


def admin_errors(name):
    make(name)
    codes = []
    for call in (
        lambda: publisher.create_topic(name=topic_name(name)),
        lambda: subscriber.get_subscription(subscription=subscription_name("none")),
        lambda: publisher.create_topic(name=f"projects/{PROJECT}/topics/goog-x"),
        lambda: publisher.api.publish(topic=topic_name("none"), messages=[{"data": b"x"}]),
    ):
        try:
            call()
            codes.append("OK")
        except exceptions.GoogleAPICallError as error:
            codes.append(code_of(error))
    return " ".join(codes), ""


def deleted_while_open(name):
    make(name)
    future = subscriber.subscribe(subscription_name(name), callback=ack)
    publish(name, "m0")
    time.sleep(2)
    subscriber.delete_subscription(subscription=subscription_name(name))
    try:
        future.result(SOON_S)
        return "ended without an error", ""
    except exceptions.GoogleAPICallError as error:
        return code_of(error), error.message


def restarted(name, how):
    make(name)
    with Receiver(name, ack) as receiver:
        publish(name, *[f"a{i}" for i in range(20)])
        receiver.await_count(1)
        late = [publisher.publish(topic_name(name), f"b{i}".encode()) for i in range(20)]
        control(how, "restarted")
        for result in late:
            result.result(SOON_S)
        publish(name, *[f"c{i}" for i in range(20)])
        # What was on its way when the broker went comes again when its lease has ended, 60 s later.
        wait_until(lambda: len(set(receiver.texts())) == 60, 2 * SOON_S)
        extra = len(receiver.came) - 60
    return "none lost", f"60 messages, {extra} delivered again"


def server_restart(name):
    return restarted(name, "/restart")


def server_crash(name):
    return restarted(name, "/crash")


def reply_lost(name):
    make(name, enable_exactly_once_delivery=True)
    with Receiver(name, None) as receiver:
        publish(name, "m0")
        receiver.await_count(1)
        control(f"/lose-reply?subscription={subscription_name(name)}", "armed")
        begun = time.monotonic()
        status = ack_status(receiver.came[0])
        answered = time.monotonic() - begun
        control("/was-lost", "lost")
        time.sleep(LEASE_S + 2)
        times = {1: "once"}.get(len(receiver.came), f"{len(receiver.came)} times")
    return f"{status}, handed over {times}", f"answered after {answered:.2f} s"


def transient_failure(name):
    make(name, enable_exactly_once_delivery=True)
    control(f"/fail-acks?subscription={subscription_name(name)}", "armed")
    with Receiver(name, None, threads=20) as receiver:
        publish(name, "m0")
        receiver.await_count(1)
        begun = time.monotonic()
        return ack_status(receiver.came[0]), f"answered after {time.monotonic() - begun:.2f} s"


def stream_recycle(name):
    make(name)
    with Receiver(name, ack) as receiver:
        publish(name, "m0")
        receiver.await_count(1)
        control(f"/recycle?subscription={subscription_name(name)}", "recycled")
        begun = time.monotonic()
        publish(name, "m1")
        wait_until(lambda: "m1" in receiver.texts())
        return "received", f"{time.monotonic() - begun:.2f} s after the stream was closed"


def idle(name):
    make(name, enable_exactly_once_delivery=True)
    with Receiver(name, None) as receiver:
        time.sleep(600)
        begun = time.monotonic()
        publish(name, "m0")
        receiver.await_count(1)
        return ack_status(receiver.came[0]), f"received {time.monotonic() - begun:.2f} s after ten idle minutes"


BEHAVIOURS = {
    "publish-receive": publish_and_receive,
    "exactly-once-ack": exactly_once_ack,
    "late-ack": late_ack,
    "mixed-batch": mixed_batch,
    "thousand-failed-ids": thousand_failed,
    "exactly-once-switch": exactly_once_switch,
    "flow-control": flow_control,
    "message-9mb": big_message,
    "message-too-big": too_big_message,
    "ordering-nack": ordering_nack,
    "ordering-crash": ordering_crash,
    "dead-letter": dead_letter,
    "retry-policy": retry_policy,
    "filter": filtered,
    "seek-time": seek_time,
    "seek-snapshot": seek_snapshot,
    "paging": paging,
    "masks": masks,
    "admin-errors": admin_errors,
    "deleted-while-open": deleted_while_open,
    "transient-ack-failure": transient_failure,
    "stream-recycle": stream_recycle,
    "ack-reply-lost": reply_lost,
    "server-restart": server_restart,
    "server-crash": server_crash,
    "idle": idle,
}


printing = threading.Lock()


def run(behaviour):
    try:
        result, evidence = BEHAVIOURS[behaviour](behaviour)
    except NotServed as error:
        result, evidence = "not served", str(error)
    except exceptions.MethodNotImplemented as error:
        result, evidence = "not served", error.message
    except exceptions.GoogleAPICallError as error:
        result, evidence = code_of(error), error.message
    except Exception as error:
        result, evidence = type(error).__name__, str(error)
    version = importlib.metadata.version("google-cloud-pubsub")
    line = {"client": "python", "version": version, "behaviour": behaviour, "result": result, "evidence": evidence}
    with printing:  # print() writes the line and its end apart
        print(json.dumps(line), flush=True)


def main():
    with futures.ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(run, sys.argv[1:]))


if __name__ == "__main__":
    main()
