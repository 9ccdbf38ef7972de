// Package trackertest is the suite that every tracker adapter must pass: what
// the scheduler takes for granted about tracker.Reader and tracker.Tool,
// whatever the provider (SPEC §11).
//
// An adapter's test hands [Run] a function that makes a [World]: the adapter,
// connected to an empty tracker of its own, and the means to change and to
// break that tracker. The suite knows no provider. It creates issues and reads
// them back; it never looks at requests, only counts them.
//
// A nil function of World is a thing that the tracker cannot do. The checks
// that need it are skipped by name, so that the gap shows in the test's output.
//
// [Program] is the other half: the real program, run for one tick with a sample
// workflow over the fake server of an adapter's tests.
//
// Only tests import this package.
package trackertest
