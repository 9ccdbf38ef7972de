package workflow

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/codex/door"
)

// maxServices bounds the services of a workflow.
const maxServices = 16

// services decodes a list of ports of this machine's loopback.
func (f forms) services(to *[]int) form {
	return form{func(v value) {
		f.list(v, func(item value, text string) {
			port, err := parseService(text)
			switch {
			case err != nil:
			case slices.Contains(*to, port):
				err = errors.New("names a port that the list has already; remove it")
			case len(*to) == maxServices:
				err = fmt.Errorf("is one too many: at most %d services can be named; remove those that no test needs", maxServices)
			}
			if err != nil {
				f.reject(item, "%s", err)
				return
			}
			*to = append(*to, port)
		})
	}, listSchema(nonemptySchema())}
}

// parseService returns the port of a service.
func parseService(text string) (int, error) {
	host, word, _ := strings.Cut(text, ":")
	port, err := strconv.Atoi(word)
	switch {
	case host != "localhost" && host != "127.0.0.1":
		return 0, errors.New("is not a port of this machine's loopback, which alone can be named: write localhost:PORT, and have the service publish its port there, as the service of a job does with `ports: [5432:5432]`")
	case err != nil || strconv.Itoa(port) != word || port < 1 || port > math.MaxUint16:
		return 0, fmt.Errorf("has no port: write localhost:PORT with a number from 1 to %d, such as localhost:5432", math.MaxUint16)
	case port == door.Port:
		return 0, errors.New("is the port of the proxy by which commands reach hosts; let the service publish another one")
	}
	return port, nil
}

// checkStatusPage records a problem for the status page as a service.
func (d *decoder) checkStatusPage() {
	s := &d.settings
	if s.Port != nil && slices.Contains(s.Services, *s.Port) {
		d.reject(d.written["services"], "names the port of this program's status page (server.port); choose another one for it")
	}
}
