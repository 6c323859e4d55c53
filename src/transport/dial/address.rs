//! Addresses that were checked, and the proxy that leads to one.

use super::{ProxyRule, Target};
use crate::link::{CloseReason, LinkFailure};
use crate::transport::failed;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use std::net::IpAddr;
use url::{Host, Url};

/// A checked address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    pub url: Url,
    pub host: String,
    pub port: u16,
    pub is_secure: bool,
    pub is_loopback: bool,
}

impl Address {
    /// Reads the address of a target; says what is wrong with it.
    pub fn of(target: &Target) -> Result<Self, CloseReason> {
        let bad = |what: String| failed(LinkFailure::BadAddress, what);
        let mut url = Url::parse(target.url.trim()).map_err(|error| {
            bad(format!(
                "The address {:?} is not valid: {error}.",
                target.url
            ))
        })?;
        let is_secure = match url.scheme() {
            "wss" => true,
            "ws" => false,
            other => {
                return Err(bad(format!(
                    "The address begins with {other}://; it must begin with wss:// (or ws:// on \
                     this machine)."
                )));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad(
                "The address holds a name or a password. Take it out; the secret of an account is \
                 kept apart from the configuration."
                    .into(),
            ));
        }
        let is_loopback = match url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => {
                ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
            }
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
            None => return Err(bad("The address names no host.".into())),
        };
        url.set_fragment(None);
        if !is_secure && !is_loopback && !target.allow_plain {
            return Err(bad(
                "The address is plain ws:// to another machine: secret and messages would travel \
                 readable by others. Use wss://, or set `allow_plain = true` for the account \
                 (--allow-plain when adding it) if the way there is protected (a tunnel, a \
                 private network)."
                    .into(),
            ));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = url.port().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self {
            url,
            host,
            port,
            is_secure,
            is_loopback,
        })
    }

    /// Scheme, host and port for HTTP.
    pub fn http_origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    /// The host as a name or number without brackets.
    pub(super) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// A proxy that is to be used, with where it comes from.
pub struct Proxy {
    pub(super) intercept: Intercept,
    source: String,
}

impl Proxy {
    /// The proxy for an address; none means directly.
    pub fn of(rule: &ProxyRule, address: &Address) -> Result<Option<Self>, CloseReason> {
        let (matcher, source) = match rule {
            ProxyRule::Off => return Ok(None),
            // A server on this machine is never behind somebody else's proxy.
            ProxyRule::Environment if address.is_loopback => return Ok(None),
            ProxyRule::Environment => (
                Matcher::from_system(),
                environment_source(address.is_secure),
            ),
            ProxyRule::At(proxy) => (
                Matcher::builder().all(proxy.as_str()).build(),
                "setting `proxy` of the account".to_owned(),
            ),
        };
        let found = Self::matched(&matcher, source, address);
        if found.is_none()
            && let ProxyRule::At(_) = rule
        {
            return Err(failed(
                LinkFailure::Proxy,
                "The proxy of this account is not a valid address. It must look like \
                 http://host:port or socks5://host:port.",
            ));
        }
        Ok(found)
    }

    pub(super) fn matched(matcher: &Matcher, source: String, address: &Address) -> Option<Self> {
        // The matcher knows only these two schemes.
        let uri = format!("{}/", address.http_origin()).parse().ok()?;
        let intercept = matcher.intercept(&uri)?;
        Some(Self { intercept, source })
    }

    pub(super) fn name(&self) -> String {
        let uri = self.intercept.uri();
        format!(
            "the proxy {}://{} ({})",
            uri.scheme_str().unwrap_or("http"),
            uri.authority().map(|a| a.as_str()).unwrap_or("?"),
            self.source
        )
    }

    pub(super) fn is_loopback(&self) -> bool {
        match self.intercept.uri().host() {
            Some("localhost") => true,
            Some(host) => host
                .trim_matches(['[', ']'])
                .parse::<IpAddr>()
                .is_ok_and(|ip| ip.is_loopback()),
            None => false,
        }
    }
}

/// The name of the variable that decides, as curl looks them up.
fn environment_source(is_secure: bool) -> String {
    let names: &[&str] = if is_secure {
        &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    } else {
        &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
    };
    names
        .iter()
        .find(|name| std::env::var_os(name).is_some())
        .map_or_else(|| "set in the system".into(), |name| (*name).to_owned())
}
