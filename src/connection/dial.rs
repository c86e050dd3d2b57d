//! From a host name to a TCP connection: every address, IPv6 and IPv4 in turn, the first that answers (RFC 8305).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::settings;
use crate::constants::CONNECTION_ATTEMPT_DELAY_MS;
use crate::errors::Fault;
use crate::target::{AddressFamily, Target};

/// How many addresses of one name are tried.
const MAX_ADDRESSES: usize = 32;

/// Finds the addresses of a host, in the order in which they are tried.
pub(super) async fn lookup(host: &str, port: u16, route: &Route) -> Result<Vec<SocketAddr>, Fault> {
    let found = if let Ok(address) = host.parse::<IpAddr>() {
        vec![SocketAddr::new(address, port)]
    } else {
        let name = host.to_owned();
        let answer = tokio::task::spawn_blocking(move || resolve(&name, port)).await;
        answer.map_err(|e| Fault::Internal { problem: e.to_string() })??
    };
    let fitting: Vec<SocketAddr> = found.into_iter().filter(|address| route.fits(address)).collect();
    if fitting.is_empty() {
        let problem = "it has no address of the AddressFamily that is asked for".to_owned();
        return Err(Fault::Unreachable { address: format!("{host}:{port}"), problem });
    }
    Ok(interleave(fitting))
}

/// How the socket is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    family: AddressFamily,
    bind_address: Option<String>,
    bind_interface: Option<String>,
    patience: Option<Duration>,
}

impl Route {
    pub(super) fn of(target: &Target) -> Self {
        Self {
            family: target.address_family,
            bind_address: target.bind_address.clone(),
            bind_interface: target.bind_interface.clone(),
            patience: settings::lost_after(target),
        }
    }

    fn fits(&self, address: &SocketAddr) -> bool {
        match self.family {
            AddressFamily::Any => true,
            AddressFamily::Inet => address.is_ipv4(),
            AddressFamily::Inet6 => address.is_ipv6(),
        }
    }

    async fn connect(self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        #[cfg(target_os = "linux")]
        if let Some(interface) = &self.bind_interface {
            socket2::SockRef::from(&socket).bind_device(Some(interface.as_bytes()))?;
        }
        if let Some(local) = &self.bind_address {
            let candidates = tokio::net::lookup_host((local.as_str(), 0)).await?;
            let mut same = candidates.filter(|candidate| candidate.is_ipv4() == address.is_ipv4());
            let local =
                same.next().ok_or_else(|| io::Error::other(format!("BindAddress {local} is of another family")))?;
            socket.bind(local)?;
        }
        socket.connect(address).await
    }
}

/// Blocks in getaddrinfo(3).
fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
    use dns_lookup::{AddrInfoHints, LookupErrorKind, SockType, getaddrinfo};

    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    let service = port.to_string();
    let entries = getaddrinfo(Some(host), Some(&service), Some(hints)).map_err(|error| match error.kind() {
        LookupErrorKind::NoName | LookupErrorKind::NoData => Fault::HostNotFound { host: host.to_owned() },
        _ => Fault::DnsTemporary { host: host.to_owned(), problem: io::Error::from(error).to_string() },
    })?;
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in entries.flatten().map(|entry| entry.sockaddr) {
        if found.len() < MAX_ADDRESSES && !found.contains(&address) {
            found.push(address);
        }
    }
    if found.is_empty() { Err(Fault::HostNotFound { host: host.to_owned() }) } else { Ok(found) }
}

/// Alternates the families, beginning with the resolver's first (RFC 8305 section 4).
fn interleave(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = found.first().is_some_and(SocketAddr::is_ipv6);
    let (mut first, mut second): (Vec<_>, Vec<_>) = found.into_iter().partition(|a| a.is_ipv6() == first_is_v6);
    first.reverse();
    second.reverse();
    let mut order = Vec::with_capacity(first.len() + second.len());
    while !first.is_empty() || !second.is_empty() {
        order.extend(first.pop());
        order.extend(second.pop());
    }
    order
}

/// Connects to the first address that answers. Each gets a head start of 250 ms over the next, or until it fails.
pub(super) async fn connect(addresses: &[SocketAddr], route: &Route) -> Result<(TcpStream, SocketAddr), Fault> {
    let head_start = Duration::from_millis(CONNECTION_ATTEMPT_DELAY_MS);
    let mut waiting = addresses.iter().copied();
    let mut attempts: JoinSet<(SocketAddr, io::Result<TcpStream>)> = JoinSet::new();
    let mut failures = Vec::new();
    let mut next_start = Instant::now();
    loop {
        tokio::select! {
            () = sleep_until(next_start), if waiting.len() > 0 => {
                if let Some(address) = waiting.next() {
                    let route = route.clone();
                    attempts.spawn(async move { (address, route.connect(address).await) });
                    next_start = Instant::now() + head_start;
                }
            }
            Some(done) = attempts.join_next() => match done {
                Ok((address, Ok(stream))) => {
                    configure(&stream, route.patience);
                    return Ok((stream, address));
                }
                Ok((address, Err(error))) => {
                    failures.push((address, error));
                    next_start = Instant::now();
                }
                Err(error) => return Err(Fault::Internal { problem: error.to_string() }),
            },
            else => return Err(why(&failures)),
        }
    }
}

fn configure(stream: &TcpStream, patience: Option<Duration>) {
    // Each only tunes: a kernel that knows one of them not still connects.
    let socket = socket2::SockRef::from(stream);
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_keepalive(true);
    #[cfg(target_os = "linux")]
    if patience.is_some() {
        let _ = socket.set_tcp_user_timeout(patience);
    }
    let _ = patience;
}

/// One error for all addresses: refused only where every one of them was.
fn why(failures: &[(SocketAddr, io::Error)]) -> Fault {
    let refused = |(_, error): &(SocketAddr, io::Error)| error.kind() == io::ErrorKind::ConnectionRefused;
    let list = |items: Vec<String>| items.join(", ");
    if failures.iter().all(refused) {
        return Fault::ConnectionRefused { address: list(failures.iter().map(|(a, _)| a.to_string()).collect()) };
    }
    let others = failures.iter().filter(|failure| !refused(failure));
    let (addresses, problems): (Vec<_>, Vec<_>) = others.map(|(a, e)| (a.to_string(), e.to_string())).unzip();
    let mut distinct = problems;
    distinct.dedup();
    Fault::Unreachable { address: list(addresses), problem: list(distinct) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns_beginning_with_the_resolvers_first() {
        let found = addresses(&["[::1]:22", "[::2]:22", "[::3]:22", "1.1.1.1:22", "2.2.2.2:22"]);
        let want = addresses(&["[::1]:22", "1.1.1.1:22", "[::2]:22", "2.2.2.2:22", "[::3]:22"]);
        assert_eq!(interleave(found), want);
    }

    #[tokio::test]
    async fn a_dead_first_address_does_not_keep_the_second_waiting() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let alive = listener.local_addr().unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap();
        let (_, address) = connect(&[closed, alive], &Route::default()).await.unwrap();
        assert_eq!(address, alive);
    }

    #[tokio::test]
    async fn refused_everywhere_is_refused() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let fault = connect(&[closed], &Route::default()).await.unwrap_err();
        assert_eq!(fault, Fault::ConnectionRefused { address: closed.to_string() });
    }

    #[tokio::test]
    async fn a_local_address_is_the_one_that_the_other_side_sees() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let route = Route { bind_address: Some("127.0.0.3".to_owned()), ..Route::default() };
        let (_stream, _) = connect(&[listener.local_addr().unwrap()], &route).await.unwrap();
        assert_eq!(listener.accept().await.unwrap().1.ip().to_string(), "127.0.0.3");
    }

    #[tokio::test]
    async fn an_address_of_the_wrong_family_is_not_tried() {
        let route = Route { family: AddressFamily::Inet6, ..Route::default() };
        assert!(matches!(lookup("127.0.0.1", 22, &route).await, Err(Fault::Unreachable { .. })));
    }

    #[tokio::test]
    async fn a_numeric_host_is_not_looked_up() {
        assert_eq!(lookup("::1", 2222, &Route::default()).await.unwrap(), addresses(&["[::1]:2222"]));
    }
}
