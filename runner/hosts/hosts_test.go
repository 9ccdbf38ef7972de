package hosts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestWordsBecomeHosts(t *testing.T) {
	t.Parallel()
	got, err := Expand([]string{"python", "Mirror.Example", "pypi.org", "xn--bcher-kva.example"})
	want := []string{"files.pythonhosted.org", "mirror.example", "pypi.org", "xn--bcher-kva.example"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Expand(nil); len(got) > 0 || err != nil {
		t.Errorf("no words: %q, %v", got, err)
	}
}

func TestEachSetHasHostsThatAreNotRefused(t *testing.T) {
	t.Parallel()
	for _, set := range Sets() {
		hosts, err := Expand(Of(set))
		if err != nil || len(hosts) != len(Of(set)) || len(hosts) == 0 {
			t.Errorf("%s: %q, %v", set, hosts, err)
		}
	}
	if _, err := Expand(Sets()); err != nil {
		t.Error(err)
	}
}

func TestWhatWouldOpenMoreIsRefused(t *testing.T) {
	t.Parallel()
	many := make([]string, maxHosts+1)
	for i := range many {
		many[i] = fmt.Sprintf("host%d.example", i)
	}
	for want, words := range map[string][]string{
		"is empty":                  {""},
		"an address of a page":      {"https://pypi.org", "pypi.org/simple", "user@pypi.org", "pypi.org?x", "//pypi.org"},
		"is a pattern":              {"*", "*.example.org", "registry.*"},
		"has a port or is an addr":  {"pypi.org:443", "::1", "[::1]", "::ffff:127.0.0.1", "fe80::1%eth0", "127.0.0.1:80"},
		"is this machine":           {"localhost", "LocalHost", "a.localhost", "localhost.localdomain", "localhost.example.org"},
		"is an address, which":      {"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "1.0x7f", "0177.0.0.1", "169.254.169.254", "0", "1.2.3.4.5", "a.1"},
		"neither a host":            {"nodejs", "Node", "registry", "vm"},
		"is not the name of a host": {"pypi.org.", ".pypi.org", "a..b", "-a.b", "a-.b", "a b.example", "bücher.example", "a_b.example", "pypi.org\n", "pypi,org.example", strings.Repeat("a", 64) + ".example"},
		"is longer than":            {strings.Repeat("a.", 130) + "example"},
		"name at most 100":          many,
	} {
		for i := range words {
			try := words[i : i+1]
			if len(words) > maxHosts {
				try = words
			}
			got, err := Expand(try)
			if err == nil || got != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %q, %v, want %q", try[0], got, err, want)
			}
		}
	}
	if _, err := Expand([]string{"*", "go", "::1"}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("each word has a reason: %v", err)
	}
}

func TestHostsThatAreThisMachineOrNotPublicAreFound(t *testing.T) {
	t.Parallel()
	lookup := Lookup(func(_ context.Context, host string) ([]netip.Addr, error) {
		var found []netip.Addr
		for text := range strings.SplitSeq(strings.TrimSuffix(host, ".example"), "_") {
			if a, err := netip.ParseAddr(text); err == nil {
				found = append(found, a)
			}
		}
		if found == nil {
			return nil, errors.New("no such host")
		}
		return found, nil
	})
	own := []string{"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "224.0.0.1", "8.8.8.8_127.0.0.1"}
	private := []string{"10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.80", "198.18.0.1", "fd00::1", "2001:db8::1", "240.0.0.1", "::ffff:10.0.0.1", "0.1.2.3"}
	public := []string{"8.8.8.8", "2606:4700::1", "unknown"}
	for _, allowed := range []bool{false, true} {
		for kind, names := range map[string][]string{"own": own, "private": private, "public": public} {
			for _, name := range names {
				got := lookup.Check(t.Context(), []string{name + ".example"}, allowed)
				want := kind == "own" || kind == "private" && !allowed
				if (len(got) == 1) != want || want && (got[0].Own != (kind == "own") || !strings.Contains(got[0].Reason(""), "remove it")) {
					t.Errorf("%s, private %t: %+v", name, allowed, got)
				}
			}
		}
	}
}
