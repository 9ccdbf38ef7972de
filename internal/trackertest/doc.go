// Package trackertest is the conformance suite of tracker adapters: what the program
// relies on in the tracker.Adapter of every provider (SPEC §11).
//
// An adapter's test calls [Run] with a function that opens a [Harness]: the adapter,
// connected to an empty tracker of its own, and functions that change and break that
// tracker. The suite knows no provider. It creates issues and reads them back; it
// never looks at requests, it only counts them.
//
// A nil function of a Harness, other than Put, Delete and Comments, is something that the
// tracker cannot do. The checks that need it are skipped by name. The suite does not open a
// tracker.Config: an adapter tests its settings and Identifier itself, and that Open refuses
// wrong ones.
//
// [Program] runs the real program for one tick with a sample workflow over the fake
// server of an adapter's tests. The rest is equipment that the adapters' tests share.
//
// Only tests import this package.
package trackertest
