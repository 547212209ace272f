#!/bin/sh
# Builds the real components that tests and runs can use: istiod
# (pilot-discovery), kube-apiserver, kubectl, etcd and Contour, and copies the CRDs of
# Istio and of Contour beside them. What is up to date is not built again.
#
# Usage: internal/realstack/build.sh OUTDIR
set -eu

if [ $# -ne 1 ]; then
	echo "usage: $0 OUTDIR" >&2
	exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"

# One set of flags for all, or Go would compile the packages they share, the
# standard library too, once per set.
export CGO_ENABLED=0

version() { go list -m -f '{{.Version}}' "$1"; }

# build NAME PACKAGE [LDFLAGS...]: NAME in OUTDIR from PACKAGE.
build() {
	name=$1
	package=$2
	shift 2
	echo "building $name" >&2
	go build -trimpath -ldflags "-s -w $*" -o "$out/$name" "$package"
}

# The components report "unknown" or v0.0.0 unless the linker sets their version.
kubernetes=$(version k8s.io/kubernetes)
minor=${kubernetes#v1.}
base=k8s.io/component-base/version
kube="-X $base.gitVersion=$kubernetes -X $base.gitMajor=1 -X $base.gitMinor=${minor%%.*}"

# A pseudo-version does not say which release it precedes; Istio's VERSION file does.
go mod download istio.io/istio
istio=$(go list -m -f '{{.Dir}}' istio.io/istio)
revision=$(version istio.io/istio)
revision=${revision##*-}
info=istio.io/istio/pkg/version
pilot="-X $info.buildVersion=$(cat "$istio/VERSION") -X $info.buildGitRevision=$revision -X $info.buildStatus=Clean"

build etcd go.etcd.io/etcd/server/v3
build kubectl k8s.io/kubernetes/cmd/kubectl "$kube"
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$kube"
build pilot-discovery istio.io/istio/pilot/cmd/pilot-discovery "$pilot"

# copy FILE NAME: a file of a module, as NAME in OUTDIR. The module cache is read-only:
# install sets a mode that lets the next run overwrite.
copy() {
	if [ ! -f "$1" ]; then
		echo "$0: $1 is missing: this version of the module keeps its CRDs elsewhere" >&2
		exit 1
	fi
	install -m 0644 "$1" "$out/$2"
}

copy "$istio/manifests/charts/base/files/crd-all.gen.yaml" istio-crds.yaml

# Contour has a module of its own, since it wants other versions of what istiod and
# Kubernetes want too.
cd contour
contour=github.com/projectcontour/contour
go mod download "$contour"
build contour "$contour/cmd/contour" "-X $contour/internal/build.Version=$(version "$contour")"
copy "$(go list -m -f '{{.Dir}}' "$contour")/examples/contour/01-crds.yaml" contour-crds.yaml
