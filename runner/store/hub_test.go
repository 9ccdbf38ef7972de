package store

import (
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/store/storetest"
)

const (
	hubToken = "ghs_0123456789abcdefSECRET"
	hubRepo  = "octo/state-keeper"
)

// branchName has a slash and a sign that must be escaped in a URL.
const branchName = "symphony/state+%41"

// hub is GitHub, with a state on a branch.
type hub struct{ *storetest.Hub }

func newHub(t testing.TB) hub {
	t.Helper()
	return hub{storetest.New(t, storetest.Config{Repo: hubRepo, Token: hubToken})}
}

// open is a run's store on the branch.
func (h hub) open(t testing.TB) *Branch {
	t.Helper()
	b, err := OpenBranch(BranchConfig{Repo: hubRepo, Branch: branchName, APIURL: h.URL() + "/", Token: hubToken}, h.Client())
	if err != nil {
		t.Fatal(err)
	}
	b.client.transport.retryPause = time.Millisecond
	return b
}

// put makes somebody else commit data as the state; nil deletes the branch.
func (h hub) put(data []byte) {
	if data == nil {
		h.Delete(branchName)
		return
	}
	h.Commit(branchName, map[string]string{stateFile: string(data)})
}

// raw is the state that the branch holds, nil when there is no branch.
func (h hub) raw(*testing.T) []byte {
	content, ok := h.File(branchName, stateFile)
	if !ok {
		return nil
	}
	return append([]byte{}, content...)
}
