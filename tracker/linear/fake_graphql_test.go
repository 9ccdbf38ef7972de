package linear

import "github.com/symphony-runner/symphony/tracker/trackertest"

type (
	object   = trackertest.Object
	resolver = trackertest.Resolver
)
