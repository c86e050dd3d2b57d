//! Whose operation it is, from whom we call.

use crate::model::operation::{OperationId, OperationKey, TargetAccount, Via};
use crate::model::request::Elevation;
use crate::target::Target;

/// The operation that this key names at this target. With `HostKeyAlias` the alias is the host; else it is the address, and the
/// way to it.
pub(in crate::flow) fn operation(target: &Target, elevation: Option<&Elevation>, key: &OperationKey) -> OperationId {
    let account = if let Some(alias) = &target.host_key_alias {
        TargetAccount::aliased(&target.user, alias)
    } else {
        let hops: Vec<String> =
            target.jump.iter().map(|hop| format!("{}@{}:{}", hop.user, hop.host, hop.port)).collect();
        let via = match &target.proxy_command {
            Some(command) => Via::ProxyCommand(command),
            None => Via::Jumps(&hops),
        };
        TargetAccount::located(&target.user, &target.host, target.port, via)
    };
    let target = match elevation {
        Some(elevation) => account.elevated(&elevation.user),
        None => account,
    };
    OperationId { target, key: key.clone() }
}
