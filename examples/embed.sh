#!/bin/sh
# Embed a text from the shell, with socat or an nc that knows Unix sockets: sh embed.sh MODEL_ID [TEXT]
set -eu
export LC_ALL=C

if [ $# -lt 1 ]; then
    echo "usage: sh embed.sh MODEL_ID [TEXT]" >&2
    exit 2
fi
model=$1
text=${2:-A text to embed.}

# The most usual places, the first that applies. `synapse doctor` prints the address; SYNAPSE_SOCKET overrides them.
if [ -n "${SYNAPSE_SOCKET:-}" ]; then
    socket=$SYNAPSE_SOCKET
elif [ -n "${SYNAPSE_RUNTIME_DIR:-}" ]; then
    socket=$SYNAPSE_RUNTIME_DIR/service.sock
elif [ -n "${SYNAPSE_HOME:-}" ]; then
    socket=$SYNAPSE_HOME/run/service.sock
elif [ "$(uname)" = Darwin ]; then
    socket="$HOME/Library/Application Support/Synapse/run/service.sock"
elif [ -S "${XDG_RUNTIME_DIR:-/nowhere}/synapse/service.sock" ]; then
    socket=$XDG_RUNTIME_DIR/synapse/service.sock
else
    socket=$HOME/.local/state/synapse/run/service.sock
fi
if [ ! -S "$socket" ]; then
    echo "The Synapse service is not running: there is no socket at $socket" >&2
    exit 1
fi

if command -v socat >/dev/null; then
    connect() { exec socat - "UNIX-CONNECT:$socket"; }
elif nc -h 2>&1 | grep -q -e -U; then
    connect() { exec nc -U "$socket"; }
else
    echo "This example needs socat, or an nc that knows -U" >&2
    exit 1
fi

# A text as a JSON string; control characters become spaces.
quoted() {
    printf '"%s"' "$(printf '%s' "$1" | tr '[:cntrl:]' ' ' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# The connection must stay open until the answer is here: closing it takes the request back. Hence two pipes.
folder=$(mktemp -d)
trap '' PIPE
mkfifo "$folder/requests" "$folder/replies"
connect <"$folder/requests" >"$folder/replies" &
connected=$!
trap 'kill "$connected" 2>/dev/null; rm -rf "$folder"' EXIT
exec 3>"$folder/requests" 4<"$folder/replies"

# Sends one request and leaves the line that answers it in $reply.
call() {
    reply=
    if ! printf '%s\n' "$1" >&3 || ! read -r reply <&4; then
        echo "The service did not answer at $socket" >&2
        exit 1
    fi
    case $reply in
    *'"error":{'*)
        echo "$reply" >&2
        exit 1
        ;;
    esac
}

call '{"jsonrpc":"2.0","id":1,"method":"service.hello","params":{"client":{"name":"example-shell","version":"1"}}}'
call "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"embed.query\",\"params\":{\"model\":$(quoted "$model"),\"text\":$(quoted "$text"),\"deadline_ms\":30000}}"

vector=$(printf '%s' "$reply" | sed 's/.*"vector":\[\([^]]*\)\].*/\1/')
count=$(printf '%s,' "$vector" | tr -dc ',' | wc -c)
echo "numbers: $(printf '%s' "$vector" | cut -d, -f1-4 | tr ',' ' ') ... ($((count)) in all)"
echo "fingerprint: $(printf '%s' "$reply" | sed 's/.*"fingerprint":"\([^"]*\)".*/\1/')"
