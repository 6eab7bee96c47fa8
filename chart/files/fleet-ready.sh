# shellcheck shell=bash
# Usage: fleet-ready.sh HOST PORT SECONDS [wake]
# Asks the fleet over gRPC whether a replica is ready, until one is or SECONDS have
# passed. With "wake" it also requests the repository index, like a client, which
# wakes a fleet at zero replicas. It needs only bash and coreutils, which every
# Triton image has.
host=$1 port=$2 deadline=$((SECONDS + $3)) wake=${4:-}
export LC_ALL=C

text() { printf '\\x%02x%s' "${#1}" "$1"; } # an HPACK string, under 127 bytes

# call METHOD: an HTTP/2 connection with one call and an empty message; prints the bytes of the answer.
call() {
  local path="/inference.GRPCInferenceService/$1"
  local headers length
  headers="\\x83\\x86\\x04$(text "$path")\\x01$(text "$host")\\x0f\\x10$(text application/grpc)\\x00$(text te)$(text trailers)"
  length=$(printf %b "$headers" | wc -c)
  {
    printf 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00'
    printf %b "\\x00\\x00\\x$(printf %02x "$length")\\x01\\x04\\x00\\x00\\x00\\x01$headers"
    printf '\x00\x00\x05\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00'
  } >&3 && timeout 2 cat <&3
}

# Whether an answer contains the message {ready: true}.
ready() {
  local answer
  exec 3<>"/dev/tcp/$host/$port" && answer=$(call ServerReady | od -An -v -tx1 | tr -d '\n')
  [[ $answer == *' 00 00 00 00 02 08 01'* ]]
}

while ((SECONDS < deadline)); do
  if (ready) 2>/dev/null; then
    echo "a replica is ready behind $host:$port"
    exit 0
  fi
  if [[ $wake ]]; then
    (exec 3<>"/dev/tcp/$host/$port" && call RepositoryIndex >/dev/null) 2>/dev/null
  fi
  sleep 1
done
echo "no replica is ready behind $host:$port"
exit 1
