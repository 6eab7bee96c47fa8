# shellcheck shell=bash
# Usage: fleet-ready.sh HOST PORT SECONDS [tokens]
# Asks the fleet over gRPC whether a replica is ready, until one is or SECONDS have
# passed. It first makes a call that takes the route of inference, which wakes a fleet
# at zero replicas; with "tokens" such calls need a token, and it does not. It needs
# only bash and coreutils, which every Triton image has.
host=$1 port=$2 deadline=$((SECONDS + $3)) tokens=${4:-}
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

# answers METHOD PATTERN: whether the answer has a DATA frame whose message begins with these bytes.
answers() {
  local answer
  exec 3<>"/dev/tcp/$host/$port" && answer=$(call "$1" | od -An -v -tx1 | tr -d '\n')
  [[ $answer =~ \ 00\ 0[01]\ 00\ 00\ 00\ 01\ 00(\ [0-9a-f]{2}){4}\ $2 ]]
}

# A message with a name, then {ready: true}.
ready() { [[ $tokens ]] || (answers ServerMetadata '0a') && (answers ServerReady '08 01'); }

while ((SECONDS < deadline)); do
  if ready 2>/dev/null; then
    echo "a replica is ready behind $host:$port"
    exit 0
  fi
  sleep 1
done
echo "no replica is ready behind $host:$port"
exit 1
