"""``events.subscribe``: from then on, and only then, the connection receives notifications."""

from __future__ import annotations

from synapse_service.events import EventHub, Subscription
from synapse_service.server.router import Call, Router
from synapse_wire.errors import invalid_state
from synapse_wire.params import EventsSubscribe
from synapse_wire.results import Subscribed


def register(router: Router, hub: EventHub) -> None:
    """Serve ``events.subscribe``.

    Further calls add topics. Asking again for a topic starts it anew, with a snapshot numbered 1, which is how a
    client that saw a gap catches up at once.
    """
    by_connection: dict[int, dict[str, Subscription]] = {}

    def forget(connection_id: int) -> None:
        for subscription in by_connection.pop(connection_id).values():
            subscription.close()

    def subscribe(call: Call, params: EventsSubscribe) -> Subscribed:
        connection = call.connection
        absent = sorted(set(params.topics) - hub.topics)
        if absent:
            raise invalid_state(f"this version has no topic {', '.join(absent)}", topics=absent)
        if connection.id not in by_connection:
            by_connection[connection.id] = {}
            connection.on_close(lambda: forget(connection.id))
        subscriptions = by_connection[connection.id]
        for topic in params.topics:
            if (earlier := subscriptions.pop(topic, None)) is not None:
                earlier.close()
            subscriptions[topic] = hub.subscribe([topic], connection.send_event)
        return Subscribed(topics=list(subscriptions))

    router.add_inline("events.subscribe", subscribe)
