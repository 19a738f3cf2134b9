package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/transdim/vti/internal/document"
)

const (
	// keyFile is the file with the secret of a workspace. The file remains, so that addresses and
	// open tabs are valid after a restart.
	keyFile    = ".vti-serve-key"
	cookieName = "vti"
)

// guard rejects every request that does not come from the browser of the user, who has an address
// with the secret token.
type guard struct {
	token, cookie string
	base          string // the beginning of the paths of all pages, which servers on other ports cannot guess
	policy        string
	forms         *http.CrossOriginProtection
}

// newGuard reads the secret of the workspace, or creates it.
func newGuard(root *os.Root) (*guard, error) {
	key, err := root.ReadFile(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		key = []byte(rand.Text() + rand.Text())
		err = root.WriteFile(keyFile, key, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if len(key) < 26 {
		return nil, fmt.Errorf("%s holds no secret: remove it", keyFile)
	}
	derived := func(purpose string) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(purpose))
		return hex.EncodeToString(mac.Sum(nil))
	}
	return &guard{
		token: derived("token"), cookie: derived("cookie"), base: "/" + derived("path")[:16], forms: http.NewCrossOriginProtection(),
		policy: "default-src 'none'; script-src 'self' '" + document.ScriptHash() + "'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
			"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	}, nil
}

// loopback reports whether a Host header is one of the addresses of this machine that a page of
// another site cannot have.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	switch strings.Trim(host, "[]") {
	case "127.0.0.1", "localhost", "::1":
		return true
	}
	return false
}

// refusal returns the reason for rejecting a request, or "" if there is none.
func (g *guard) refusal(r *http.Request) string {
	if !loopback(r.Host) {
		return "this server answers to 127.0.0.1 and localhost only"
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "the request came from another site: paste the address that vti serve printed into the address bar"
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return "the request came from another site"
	}
	if err := g.forms.Check(r); err != nil {
		return "the request came from another site"
	}
	return ""
}

// protect returns a handler that passes a request to the handler next unless it is rejected. The
// base is removed from the path of the request.
func (g *guard) protect(next http.Handler) http.Handler {
	next = http.StripPrefix(g.base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": g.policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			w.Header().Set(name, value)
		}
		if why := g.refusal(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		if token := r.URL.Query().Get("token"); token != "" && r.Method == http.MethodGet && hmac.Equal([]byte(token), []byte(g.token)) {
			http.SetCookie(w, &http.Cookie{Name: cookieName, Value: g.cookie, Path: g.base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, g.base+"/", http.StatusSeeOther)
			return
		}
		cookie, err := r.Cookie(cookieName)
		if err != nil || !hmac.Equal([]byte(cookie.Value), []byte(g.cookie)) {
			http.Error(w, "open the address that vti serve printed when it started, with its token", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
