"""Models of timm and torchvision, by short names: what makes them, the edge of their images, settings."""

from sweep_models import without_zeros

TIMM = {
    # as they are
    64: """convmixer=convmixer_768_32 cspnet=cspresnet50 davit=davit_tiny dpn=dpn48b edgenext=edgenext_xx_small
        efficientvit_mit=efficientvit_b0 fastvit=fastvit_t8 focalnet=focalnet_tiny_srf hgnet=hgnetv2_b0
        inception_next=inception_next_atto lcnet=lcnet_050 metaformer=caformer_s18 mnasnet=mnasnet_050 nfnet=nfnet_f0
        pvt_v2=pvt_v2_b0 repghost=repghostnet_050 repvgg=repvgg_a0 repvit=repvit_m0_9 res2net=res2net50_26w_4s
        resnest=resnest14d rexnet=rexnet_100 selecsls=selecsls42b senet=legacy_seresnet18 sknet=skresnet18
        starnet=starnet_s1 swiftformer=swiftformer_xs tresnet=tresnet_m visformer_64=visformer_tiny
        vovnet=ese_vovnet19b_dw xception=xception41 mambaout=mambaout_femto rdnet=rdnet_tiny
        ghostnetv2=ghostnetv2_100 ghostnetv3=ghostnetv3_050 mobilenetv4=mobilenetv4_conv_small
        hardcorenas=hardcorenas_a mixnet=tf_mixnet_s fbnet=fbnetc_100 spnasnet=spnasnet_100 gernet=gernet_s
        ecaresnet=ecaresnet26t resnetv2=resnetv2_18 nf_resnet=nf_resnet26 eca_nfnet=eca_nfnet_l0
        darknet=darknet17 cs3darknet=cs3darknet_s regnetz=regnetz_b16 mobileone=mobileone_s0
        mobilevitv2=mobilevitv2_050 convnextv2=convnextv2_atto convnext_rms=convnext_zepto_rms
        fasternet=fasternet_t0 nextvit=nextvit_small test_vit=test_vit inception_v4=inception_v4""",
    96: "nasnet=nasnetalarge pnasnet=pnasnet5large",
    128: "inception_resnet=inception_resnet_v2",
    224: """coat=coat_lite_tiny efficientformer=efficientformer_l1 efficientformerv2=efficientformerv2_s0
        efficientvit_msra=efficientvit_m0 gcvit=gcvit_xxtiny hiera=hiera_tiny_224 mvitv2=mvitv2_tiny
        nest=nest_tiny_jx pit=pit_ti_224 sequencer=sequencer2d_s shvit=shvit_s1 tiny_vit=tiny_vit_5m_224
        visformer=visformer_tiny vitamin=vitamin_small_224 volo=volo_d1_224 naflexvit=naflexvit_base_patch16_gap
        coatnet=coatnet_nano_rw_224 gmlp=gmlp_s16_224 resmlp=resmlp_12_224 swinv2_cr=swinv2_cr_tiny_ns_224
        flexivit=flexivit_small""",
    240: "crossvit=crossvit_9_240",
    256: """maxvit=maxvit_rmlp_pico_rw_256 bat=bat_resnext26ts halonet=halonet26t lambda=lambda_resnet26t
        botnet=botnet26t_256 eca_halonext=eca_halonext26ts""",
}
# Made shallower than they are.
SHALLOW = {
    "beit": ("beit_base_patch16_224", 224, {"depth": 2, "embed_dim": 48, "num_heads": 4}),
    "cait": ("cait_xxs24_224", 224, {"depth": 2}),
    "convit": ("convit_tiny", 224, {"depth": 2, "local_up_to_layer": 1}),
    "eva": ("eva02_tiny_patch14_224", 224, {"depth": 2}),
    "swin_v2": ("swinv2_tiny_window8_256", 256, {"depths": (1, 1, 1, 1)}),
    "tnt": ("tnt_s_legacy_patch16_224", 224, {"depth": 2}),
    "twins": ("twins_pcpvt_small", 224, {"depths": (1, 1, 1, 1)}),
    "twins_svt": ("twins_svt_small", 224, {"depths": (1, 1, 1, 1)}),
    "vit_rel": ("vit_relpos_small_patch16_224", 224, {"depth": 2}),
    "vit_sam": ("samvit_base_patch16_224", 224, {"depth": 2}),
    "deit3": ("deit3_small_patch16_224", 224, {"depth": 2}),
    "vit_registers": ("vit_little_patch16_reg1_gap_256", 256, {"depth": 2}),
}

# What makes it, the kind of its input, its edge.
TORCHVISION = {
    "fasterrcnn": ("detection.fasterrcnn_mobilenet_v3_large_320_fpn", "list", 128),
    "retinanet": ("detection.retinanet_resnet50_fpn", "list", 128),
    "fcos": ("detection.fcos_resnet50_fpn", "list", 128),
    "ssdlite": ("detection.ssdlite320_mobilenet_v3_large", "list", 128),
    "maskrcnn": ("detection.maskrcnn_resnet50_fpn", "list", 128),
    "keypointrcnn": ("detection.keypointrcnn_resnet50_fpn", "list", 128),
    "fcn": ("segmentation.fcn_resnet50", "image", 64),
    "deeplab": ("segmentation.deeplabv3_mobilenet_v3_large", "image", 64),
    "lraspp": ("segmentation.lraspp_mobilenet_v3_large", "image", 64),
    "r3d": ("video.r3d_18", "video", 32),
    "mc3": ("video.mc3_18", "video", 32),
    "r2plus1d": ("video.r2plus1d_18", "video", 32),
    "s3d": ("video.s3d", "long video", 224),
    "mvit": ("video.mvit_v2_s", "long video", 224),
    "mvit_v1": ("video.mvit_v1_b", "long video", 224),
    "swin3d": ("video.swin3d_t", "video", 32),
    "raft": ("optical_flow.raft_small", "pair", 128),
    "maxvit": ("maxvit_t", "image", 224),
    "swin_v2": ("swin_v2_t", "image", 64),
    "swin": ("swin_t", "image", 64),
    "shufflenet": ("shufflenet_v2_x0_5", "image", 64),
    "googlenet": ("googlenet", "image", 64),
    "squeezenet": ("squeezenet1_0", "image", 64),
    "efficientnet_v2": ("efficientnet_v2_s", "image", 64),
    "vit_b_32": ("vit_b_32", "image", 224),
    "alexnet": ("alexnet", "image", 64),
    "mnasnet": ("mnasnet0_5", "image", 64),
    "resnext": ("resnext50_32x4d", "image", 64),
}


def timm_models():
    """{short name: (name, edge, settings)}"""
    listed = {}
    for edge, pairs in TIMM.items():
        for pair in pairs.split():
            short, _, name = pair.partition("=")
            listed[short] = (name, edge, {})
    return listed | SHALLOW


def build_timm(short, torch):
    import timm

    name, edge, settings = timm_models()[short]
    return without_zeros(timm.create_model(name, pretrained=False, **settings).eval(), torch), (torch.randn(1, 3, edge, edge),), {}


def build_torchvision(short, torch):
    import torchvision

    path, kind, edge = TORCHVISION[short]
    make = torchvision.models
    for part in path.split("."):
        make = getattr(make, part)
    settings = {"weights": None}
    if path.startswith(("detection", "segmentation")):
        settings["weights_backbone"] = None
    if short == "googlenet":
        settings["init_weights"] = True
    image, frames = torch.randn(1, 3, edge, edge), 16 if kind == "long video" else 4
    arguments = {
        "list": lambda: ([torch.rand(3, edge, edge)],),
        "image": lambda: (image,),
        "pair": lambda: (image, torch.randn(1, 3, edge, edge), 2),
    }.get(kind, lambda: (torch.randn(1, 3, frames, edge, edge),))
    return without_zeros(make(**settings).eval(), torch), arguments(), {}
