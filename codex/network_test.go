package codex

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEachNetworkIsAProfileOfItsOwn(t *testing.T) {
	t.Parallel()
	o := Options{
		Loopback: true, Temp: "/temp", Certificates: "/temp/c.pem", Network: Network{Hosts: []string{"a.example"}},
		Networks: map[string]Network{"hooks": {Hosts: []string{"b.example", "c.example"}, Private: true}, "full": {Hosts: []string{"d.example"}, Full: true}, "none": {}},
	}
	const files = `.filesystem={":slash_tmp"="read",":tmpdir"="read",":workspace_roots"={},"/home"="deny","/temp"="write","/temp/c.jks"="read","/temp/c.pem"="read"}`
	want := `default_permissions=":read-only"
permissions.symphony-full.extends=":workspace"
permissions.symphony-full` + files + `
permissions.symphony-full.network={"allow_local_binding"=false,"domains"={"d.example"="allow"},"enabled"=true,"mode"="full"}
permissions.symphony-hooks.extends=":workspace"
permissions.symphony-hooks` + files + `
permissions.symphony-hooks.network={"allow_local_binding"=true,"domains"={"b.example"="allow","c.example"="allow"},"enabled"=true,"mode"="limited"}
permissions.symphony-none.extends=":workspace"
permissions.symphony-none` + files + `
permissions.symphony-none.network={"allow_local_binding"=true,"enabled"=true}
permissions.symphony.extends=":workspace"
permissions.symphony` + files + `
permissions.symphony.network={"allow_local_binding"=false,"domains"={"a.example"="allow"},"enabled"=true,"mode"="limited"}`
	rules := permissions(o, o.denied("/home", 0))
	got := strings.ReplaceAll(strings.Join(serverSettings(rules), "\n"), `"/home"="deny","/temp"="write","/temp/c.jks"="read","/temp/c.pem"="read",":slash_tmp"="read",":tmpdir"="read",":workspace_roots"={}`,
		`":slash_tmp"="read",":tmpdir"="read",":workspace_roots"={},"/home"="deny","/temp"="write","/temp/c.jks"="read","/temp/c.pem"="read"`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var p posture
	p.complete(o, serverInfo{}, rules)
	for key := range p.settings {
		if strings.HasPrefix(key, "permissions.") && !strings.HasPrefix(key, "permissions.symphony.") {
			t.Errorf("a thread has %s", key)
		}
	}
	if got := p.settings["shell_environment_policy.set."+networkVariable]; got != "/temp/c.pem" {
		t.Errorf("bash is told %v", got)
	}
}

func TestANetworkThatCannotBeHeldIsRefused(t *testing.T) {
	t.Parallel()
	hosts := Network{Hosts: []string{"a.example"}}
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
		is     error
	}{
		"no loopback":     {func(o *Options) { o.Loopback = false }, "sandbox.loopback: true", ErrNoSandbox},
		"no profile":      {func(o *Options) { o.ProfileGiven = false }, "one simple command", ErrNoSandbox},
		"another sandbox": {func(o *Options) { o.Config.ThreadSandbox = json.RawMessage(`"read-only"`) }, "codex.thread_sandbox", ErrNoSandbox},
		"no certificates": {func(o *Options) { o.Certificates = "" }, "no folder of its own", ErrNoSandbox},
		"of a program": {func(o *Options) {
			o.Network, o.Networks, o.Loopback = Network{}, map[string]Network{"hooks": hosts}, false
		}, "sandbox.loopback: true", ErrNoSandbox},
		"a name":          {func(o *Options) { o.Networks = map[string]Network{"a.b": {}} }, `the network "a.b"`, ErrSettings},
		"a name of ours":  {func(o *Options) { o.Networks = map[string]Network{"": {}} }, `the network ""`, ErrSettings},
		"an older server": {func(*Options) {}, "permission profiles", ErrTooOld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && test.is == ErrNoSandbox {
				t.Skip("elsewhere every network is refused")
			}
			o := Options{Cwd: t.TempDir(), ProfileGiven: true, Loopback: true, Network: hosts, Certificates: "/c.pem"}
			test.change(&o)
			_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
				p.hello()
				for {
					m, ok := p.next()
					switch {
					case !ok:
						return
					case m.Method == "thread/start": // a server without profiles
						p.reply(m, `{"thread":{"id":"thread-1"}}`)
					default:
						p.reply(m, "{}")
					}
				}
			}), o)
			if !errors.Is(err, test.is) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("%v, want %v with %q", err, test.is, test.want)
			}
		})
	}
}

// TestTheCertificatesOfTheProxyAreCopiedAlone has servers whose probe prints paths of the
// certificates.
func TestTheCertificatesOfTheProxyAreCopiedAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere every network is refused")
	}
	block := func(kind, text string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(text)}))
	}
	both := block("CERTIFICATE", "one") + block("PRIVATE KEY", "s3cret") + "text\n" + block("CERTIFICATE", "two")
	for name, test := range map[string]struct {
		path, content string
		own           string // content of the proxy's own file; empty for no such file
		want          string // what is copied; empty for an error
	}{
		"its own certificate":   {"proxy/ca-bundle-1.pem", both, block("CERTIFICATE", "two") + block("PRIVATE KEY", "s3cret"), block("CERTIFICATE", "two")},
		"none of its own":       {"proxy/ca-bundle-1.pem", both, "", block("CERTIFICATE", "one") + block("CERTIFICATE", "two")},
		"another process's own": {"proxy/ca-bundle-1.pem", both, block("CERTIFICATE", "three"), block("CERTIFICATE", "one") + block("CERTIFICATE", "two")},
		"no certificate":        {"proxy/ca-bundle-1.pem", block("PRIVATE KEY", "s3cret"), block("CERTIFICATE", "two"), ""},
		"nothing is read":       {"", "", "", ""},
		"another file":          {"proxy/ca.key", both, "", ""},
		"another folder":        {"other/ca-bundle-1.pem", both, "", ""},
		"a folder below":        {"proxy/x/ca-bundle-1.pem", both, "", ""},
		"a way out":             {"proxy/../other/ca-bundle-1.pem", both, "", ""},
		"a file that is absent": {"proxy/ca-bundle-2.pem", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, folder := range []string{"home/proxy/x", "home/other", "workspace"} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			printed := ""
			if test.path != "" {
				printed = filepath.Join(dir, "home") + "/" + test.path
			}
			if test.content != "" {
				if err := os.WriteFile(printed, []byte(test.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.own != "" {
				if err := os.WriteFile(filepath.Join(dir, "home/proxy/ca-1.pem"), []byte(test.own), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			copied := filepath.Join(dir, "certificates.pem")
			if err := os.WriteFile(copied, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			ran := false
			s, err := Connect(t.Context(), dial(t, func(p *fakeServer) {
				for {
					m, ok := p.next()
					switch {
					case !ok:
						return
					case m.ID == nil:
					case m.Method == "initialize":
						p.reply(m, fmt.Sprintf(`{"userAgent":"x/0.169.0","codexHome":%q}`, filepath.Join(dir, "home")))
					case m.Method == "permissionProfile/list":
						p.reply(m, `{"data":[{"id":"symphony"},{"id":"symphony-hooks"}]}`)
					case m.Method == "command/exec":
						var params execParams
						if err := json.Unmarshal(m.Params, &params); err != nil {
							t.Error(err)
						}
						if params.Profile != "symphony-hooks" {
							t.Errorf("the profile is %s", params.Profile)
						}
						if params.Env[probePort] != nil {
							p.send(fmt.Sprintf(`{"method":"command/exec/outputDelta","params":{"processId":%q,"stream":"stdout","deltaBase64":%q,"capReached":false}}`,
								params.ProcessID, base64.StdEncoding.EncodeToString([]byte(printed))))
						} else {
							ran = *params.Env[networkVariable] == copied
						}
						p.reply(m, `{"exitCode":0,"stdout":"","stderr":""}`)
					default:
						p.reply(m, "{}")
					}
				}
			}), Options{
				Cwd: filepath.Join(dir, "workspace"), ProfileGiven: true, Loopback: true, Certificates: copied,
				Networks: map[string]Network{"hooks": {Hosts: []string{"a.example"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Exec(t.Context(), Exec{Argv: []string{"true"}, Network: "hooks"})
			got, _ := os.ReadFile(copied) // it was written above
			if string(got) != test.want || (err == nil) != (test.want != "") || ran != (err == nil) {
				t.Errorf("%v; copied %q, want %q", err, got, test.want)
			}
			if err != nil && name != "a file that is absent" && !errors.Is(err, ErrNoSandbox) {
				t.Errorf("%v, want %v", err, ErrNoSandbox)
			}
		})
	}
}

// TestJavaReadsTheTrustStore has the tool of Java that checks the whole file.
func TestJavaReadsTheTrustStore(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("keytool"); err != nil {
		t.Skip(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: "of a test"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.jks")
	if err := os.WriteFile(path, trustStore([][]byte{certificate, certificate}, time.Now()), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("keytool", "-list", "-storetype", "JKS", "-keystore", path, "-storepass", trustStorePassword).CombinedOutput()
	if err != nil || strings.Count(string(said), "trustedCertEntry") != 2 {
		t.Errorf("%v: %s", err, said)
	}
}
