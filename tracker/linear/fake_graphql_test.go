package linear

import "github.com/symphony-runner/symphony/internal/trackertest"

type (
	object   = trackertest.Object
	resolver = trackertest.Resolver
)
