// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

const (
	keysDirectory    = "/e2e/keys"
	apiServerPort    = "6443"
	apiServerAddress = "https://" + nodeAddress + ":" + apiServerPort
)

// authority signs all certificates of the cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func keyFile(name string) string { return filepath.Join(keysDirectory, name) }

// makeKeys writes all keys and certificates, and a kubeconfig for each of them.
func makeKeys() error {
	if err := os.MkdirAll(keysDirectory, 0o700); err != nil {
		return err
	}
	a := &authority{}
	if err := a.sign("ca", pkix.Name{CommonName: "e2e"}); err != nil {
		return err
	}
	masters := []string{"system:masters"}
	for _, identity := range []struct {
		name    string
		subject pkix.Name
		hosts   []string
	}{
		{"apiserver", pkix.Name{CommonName: "kube-apiserver"},
			[]string{"127.0.0.1", nodeAddress, serviceAddress, "kubernetes.default.svc"}},
		{"kubelet-server", pkix.Name{CommonName: nodeName}, []string{nodeAddress, nodeName}},
		{"admin", pkix.Name{CommonName: "admin", Organization: masters}, nil},
		{"controllers", pkix.Name{CommonName: "system:kube-controller-manager"}, nil},
		{"scheduler", pkix.Name{CommonName: "system:kube-scheduler"}, nil},
		{"kubelet", pkix.Name{CommonName: "system:node:" + nodeName,
			Organization: []string{"system:nodes"}}, nil},
		{"accounts", pkix.Name{CommonName: "service accounts"}, nil},
	} {
		if err := a.sign(identity.name, identity.subject, identity.hosts...); err != nil {
			return err
		}
		if err := writeKubeconfig(identity.name); err != nil {
			return err
		}
	}
	return nil
}

// sign makes a key and its certificate. The first call makes the authority's own.
func (a *authority) sign(name string, subject pkix.Name, hosts ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               subject,
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if a.certificate == nil {
		template.IsCA = true
		template.KeyUsage |= x509.KeyUsageCertSign
		a.certificate, a.key = template, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(name+".crt", "CERTIFICATE", signed); err != nil {
		return err
	}
	return writePEM(name+".key", "PRIVATE KEY", secret)
}

func writePEM(name, kind string, content []byte) error {
	block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	return os.WriteFile(keyFile(name), block, 0o600)
}

func writeKubeconfig(name string) error {
	configuration := api.NewConfig()
	configuration.Clusters["e2e"] = &api.Cluster{
		Server: apiServerAddress, CertificateAuthority: keyFile("ca.crt")}
	configuration.AuthInfos[name] = &api.AuthInfo{
		ClientCertificate: keyFile(name + ".crt"), ClientKey: keyFile(name + ".key")}
	configuration.Contexts["e2e"] = &api.Context{Cluster: "e2e", AuthInfo: name}
	configuration.CurrentContext = "e2e"
	if err := clientcmd.WriteToFile(*configuration, keyFile(name+".kubeconfig")); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}

// administrator returns the configuration of a client with all rights.
func administrator() *rest.Config {
	return &rest.Config{
		Host: apiServerAddress,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: keyFile("ca.crt"), CertFile: keyFile("admin.crt"), KeyFile: keyFile("admin.key")},
		QPS:   1000,
		Burst: 1000,
	}
}
