// Package fakeproxy holds thousands of fake Envoys: each one keeps an ADS
// stream to a control plane, subscribes to what the received clusters and
// listeners name, ACKs or NACKs, and reports every response to a Sink.
//
// A Fleet is cheap because nearly all proxies receive the same bytes: see the package
// resource for what they share, and adsconn for their streams. Package node is who
// they say they are, and misbehave what they do wrong on purpose.
//
// The rules of the client are those of the xDS protocol
// (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol), as
// Envoy keeps them: legacy wildcard subscriptions to clusters and listeners,
// endpoints, routes, secrets and filter configurations by the names those give,
// scoped routes where a listener wants them, warming with an initial fetch
// timeout, and reconnection with jittered exponential back-off. What one type's
// resources name decides what the proxy asks for of the next. The rules, their
// sources and their tests are listed in docs/conformance.md.
//
// Proxies can also misbehave on purpose, as the Spec says and the seed draws:
// reject valid responses, apply them late, read slowly or no more, and drop
// their connections, one by one or all at once. Counts tells what they did.
package fakeproxy
