(* What follows from the invariant: the promises at the end of Model.v. *)

From Pawl Require Import Base Views Model Kept Order.

Section Promises.
  Variable slot_of : resource -> slot.
  Variable slots : list slot.
  Variable quorum : list member -> Prop.
  Hypothesis slots_are_all : forall r, In (slot_of r) slots.
  Hypothesis quorums_meet : meet quorum.
  Hypothesis quorums_share : share quorum.

  Notation history_is_fine := (history_is_fine slot_of quorum).
  Notation slot_at := (slot_at slot_of).

  (* ---- The facts that Views.v assumes, of one counter ---------------------------------------------------- *)

  (* What several masters are asked for: a base view, and what each of them is named. *)
  Inductive subject := For_lock (a : attempt) (r : resource) | For_values (c : round) | For_break (b : break).
  Record plan := Plan { subject_of : subject; base : view; named : member -> view }.

  Definition demanded (s : subject) (V : view) : demand :=
    match s with For_lock a r => Lock_of a r V | For_values c => Values_of c V | For_break b => Above b V end.
  Definition demand_at (d : plan) (m : member) : demand := demanded (subject_of d) (named d m).
  Definition size (d : plan) : nat := size_of (demanded (subject_of d) (base d)).
  Definition begins_with (d : plan) : event := start_of (demanded (subject_of d) (base d)).

  Definition same (d d' : plan) : Prop :=
    exists a a' r, subject_of d = For_lock a r /\ subject_of d' = For_lock a' r.

  Lemma view_of_demand : forall d m, view_of (demand_at d m) = named d m.
  Proof. intros [[a r | c | b] V N] m; reflexivity. Qed.

  Lemma size_of_demand : forall d m, size_of (demand_at d m) = size d.
  Proof. intros [[a r | c | b] V N] m; reflexivity. Qed.

  Lemma start_of_demand : forall d m, start_of (demand_at d m) = begins_with d.
  Proof. intros [[a r | c | b] V N] m; reflexivity. Qed.

  Lemma same_demands : forall d d' m, same d d' -> exists r, is_lock_of (demand_at d m) r /\ is_lock_of (demand_at d' m) r.
  Proof.
    intros d d' m (a & a' & r & E & E'). exists r. unfold demand_at. rewrite E, E'. split; cbn; eexists; eexists; reflexivity.
  Qed.

  Section Facts.
    Variable h : list event.
    Variable r0 : resource.
    Hypothesis F : history_is_fine h.

    Definition act_at (t : time) (m : member) (d : plan) (n : nat) (k : bool) : Prop :=
      exists o, act h t m (demand_at d m) n o /\ slot_at (demand_at d m) = slot_of r0 /\ (k = true <-> o = taken).

    Definition was_not_there (t : time) (m : member) (d : plan) : Prop := not_there h t m (demand_at d m).

    Definition admission_at (t : time) (m : member) (L : view) (n : nat) : Prop :=
      exists c, admission h t m L c /\ n = c (slot_of r0).

    Lemma fact_visit : forall t m d n k, act_at t m d n k -> visit h t m (named d m).
    Proof. intros t m d n k (o & A & _). rewrite <- (view_of_demand d m). eapply act_is_a_visit; eassumption. Qed.

    Lemma fact_before : forall t m V, visit h t m V -> V m = 0 \/
      exists t' L n, t' < t /\ admission_at t' m L n /\ L m = V m /\ below L V.
    Proof.
      intros t m V H. destruct (f_before _ _ _ F t m V H) as [X | (t' & L & c & X1 & X2 & X3)]; [now left | right].
      exists t', L, (c (slot_of r0)). split; [assumption | split; [now exists c | assumption]].
    Qed.

    Lemma fact_numbers : forall t1 t2 m d1 d2 n1 n2 k1 k2,
      act_at t1 m d1 n1 k1 -> act_at t2 m d2 n2 k2 -> named d1 m m = named d2 m m -> t1 <= t2 ->
      (same d1 d2 -> n1 <= n2) /\
      (was_not_there t1 m d2 -> n1 <= n2 /\ (k2 = true -> n1 + size d2 <= n2)).
    Proof.
      intros t1 t2 m d1 d2 n1 n2 k1 k2 (o1 & A1 & S1 & K1) (o2 & A2 & S2 & K2) E Ht.
      destruct (f_numbers _ _ _ F t1 t2 m _ _ n1 n2 o1 o2 A1 A2) as [X Y]; rewrite ?view_of_demand; try congruence.
      split; [intro Sa; apply X; now apply same_demands |]. intro N. destruct (Y N) as [Y1 Y2].
      rewrite size_of_demand in Y2. split; [assumption |]. intro K. apply Y2. now apply K2.
    Qed.

    Lemma fact_above : forall t t' m L n' d n k,
      act_at t m d n k -> admission_at t' m L n' -> L m = named d m m ->
      n' <= n /\ (k = true -> n' + size d <= n).
    Proof.
      intros t t' m L n' d n k (o & A & S & K) (c & H & ->) E. rewrite <- (view_of_demand d m) in E.
      destruct (f_above _ _ _ F t t' m L c _ n o A H E) as [X Y]. rewrite S in *. rewrite size_of_demand in Y.
      split; [assumption |]. intro Hk. apply Y. now apply K.
    Qed.

    Lemma fact_import : forall t m L n, admission_at t m L n ->
      exists R N, quorum R /\ fair L N R (Some m) /\ forall j, In j R -> exists tr, tr < t /\ visit h tr j (N j) /\
        (forall t' d x k, act_at t' j d x k -> named d j j = L j -> t' < tr -> x <= n) /\
        (forall t' L' n', admission_at t' j L' n' -> L' j = L j -> t' < tr -> n' <= n).
    Proof.
      intros t m L n (c & H & ->). destruct (f_imports _ _ _ F t m L c H r0) as (R & N & HR & Hf & X).
      exists R, N. split; [assumption | split; [assumption |]].
      intros j Hj. destruct (X j Hj) as (tr & Ht & Hv & C1 & C2).
      assert (N j j = L j) as Ej by (apply (proj1 (proj2 Hf)); [assumption | now left]).
      exists tr. split; [assumption | split; [assumption | split]].
      - intros t' d x k (o & A & S & _) E Hlt. rewrite <- Ej, <- (view_of_demand d j) in E. eapply C1; eassumption.
      - intros t' L' n' (c' & A & ->) E Hlt. rewrite <- Ej in E. eapply C2; eassumption.
    Qed.

    Definition covered := covered quorum plan base named act_at.
    Definition stands := stands quorum plan base named act_at.
    Definition counted := counted quorum plan base named act_at.
    Definition comes_after := comes_after plan act_at.

    Definition not_lower := later_is_not_lower quorum quorums_meet quorums_share (visit h) plan base named size act_at
      was_not_there same admission_at fact_visit (f_visits _ _ _ F) fact_before fact_numbers fact_above fact_import.

    Definition not_lower_at_the_counter := later_is_not_lower_at_the_counter quorum quorums_meet quorums_share (visit h)
      plan base named size act_at was_not_there same admission_at fact_visit (f_visits _ _ _ F) fact_before fact_numbers fact_above
      fact_import.

    Definition higher_at_the_counter := later_is_higher_at_the_counter quorum quorums_meet quorums_share (visit h)
      plan base named size act_at was_not_there same admission_at fact_visit (f_visits _ _ _ F) fact_before fact_numbers fact_above
      fact_import.

    Definition lie_apart := counted_lie_apart quorum quorums_meet quorums_share (visit h) plan base named size act_at
      was_not_there same admission_at fact_visit (f_visits _ _ _ F) fact_before fact_numbers fact_above fact_import.

    Lemma acts_come_after : forall t d start, is_start (begins_with d) ->
      happened h start (begins_with d) -> t <= start -> comes_after t d.
    Proof.
      intros t d start Hs H Ht m t' n k (o & A & _). destruct (f_starts _ _ _ F) as [First Once].
      destruct (First t' m _ n o A) as (s & Hlt & S). rewrite start_of_demand in S. rewrite (Once s start _ Hs S H) in Hlt. lia.
    Qed.

    Lemma fresh_comes_after : forall t a r V N, fresh_after h t (holder a) -> comes_after t (Plan (For_lock a r) V N).
    Proof.
      intros t a r V N Fr m t' n k (o & A & _). destruct (f_starts _ _ _ F) as [First _].
      destruct (First t' m _ n o A) as (s & Hlt & S). specialize (Fr s a S eq_refl). lia.
    Qed.

    Lemma fresh_was_not_there : forall t t' a r V N m, fresh_after h t (holder a) -> t' <= t ->
      was_not_there t' m (Plan (For_lock a r) V N).
    Proof.
      intros t t' a r V N m Fr Hle. right. intros start c Hs E. specialize (Fr start c Hs E). lia.
    Qed.

    Lemma grant_stands : forall t a x r, happened h t (Granted a x) -> In r (what a) -> slot_of r = slot_of r0 ->
      exists V N Q, stands (Plan (For_lock a r) V N) (x r) Q t.
    Proof.
      intros t a x r Hg Hr Hs. destruct (f_grants _ _ _ F t a x Hg) as (Q & V & N & HQ & Hf & HA). exists V, N, Q.
      split; [assumption | split; [exact Hf |]]. intros m Hm. destruct (HA m Hm r Hr) as (t' & o & Ht & A).
      exists t', (match o with taken => true | _ => false end). split; [assumption |].
      exists o. split; [assumption | split; [assumption |]]. destruct o; split; congruence.
    Qed.

    (* A token that was granted to a lock id was granted to it a first time: then all its masters had counted it. *)
    Lemma granted_first : forall bound t a x r, t <= bound ->
      happened h t (Granted a x) -> In r (what a) -> slot_of r = slot_of r0 ->
      exists b V N Q t', In r (what b) /\ holder b = holder a /\ counted (Plan (For_lock b r) V N) (x r) Q t'.
    Proof.
      induction bound as [bound IH] using lt_wf_ind. intros t a x r Hb Hg Hr Hsl.
      destruct (f_grants _ _ _ F t a x Hg) as (Q & V & N & HQ & Hf & HA).
      assert ((forall m, In m Q -> exists t', t' < t /\ act h t' m (Lock_of a r (N m)) (x r) taken) \/
              exists m t', t' < t /\ act h t' m (Lock_of a r (N m)) (x r) joined) as D.
      { clear HQ Hf. induction Q as [| m Q IHQ]; [left; intros m [] |].
        destruct (HA m (or_introl eq_refl) r Hr) as (t' & o & Ht & A).
        destruct o; [| now destruct (f_answers _ _ _ F t' m _ _ imported A) | right; now exists m, t'].
        destruct IHQ as [X | X]; [intros m' Hm; apply HA; now right | left | now right].
        intros m' [<- | Hm]; [now exists t' | now apply X]. }
      destruct D as [D | (m & t' & Ht & A)].
      - exists a, V, N, Q, t. split; [assumption | split; [reflexivity | split; [assumption | split; [exact Hf |]]]].
        intros m Hm. destruct (D m Hm) as (t' & Ht & A). exists t'. split; [assumption |].
        exists taken. split; [assumption | split; [assumption | split; auto]].
      - destruct (f_joined _ _ _ F t' m a r _ _ A) as (t'' & b & y & Ht'' & Hb' & Hw & Ey & Hid).
        destruct (IH t'') with (t := t'') (a := b) (x := y) (r := r) as (b' & V' & N' & Q' & u & X1 & X2 & X3);
          [lia | lia | assumption | assumption | assumption |].
        exists b', V', N', Q', u. rewrite <- Hid, <- Ey. auto.
    Qed.
  End Facts.

  Lemma other_id_was_not_there : forall h t m a b r W V N n o,
    act h t m (Lock_of a r W) n o -> holder a <> holder b -> was_not_there h t m (Plan (For_lock b r) V N).
  Proof. intros h t m a b r W V N n o A D. left. now exists a, W, n, o. Qed.

  Lemma act_is_real : forall h r t m d n k, act_at h r t m d n k -> exists o, act h t m (demand_at d m) n o.
  Proof. intros h r t m d n k (o & A & _). now exists o. Qed.

  (* ---- P1 ------------------------------------------------------------------------------------------------- *)

  Theorem fine_gives_P1 : forall h, history_is_fine h -> P1 h.
  Proof.
    intros h F a b ta tb at_a at_b start_b r Ha Hb Hs Ra Rb.
    assert (holder a <> holder b -> ta r <> tb r) as Differ.
    { intro Hid.
      destruct (granted_first h r F at_a at_a a ta r (le_n _) Ha Ra eq_refl) as (a' & VA & NA & QA & ua & _ & Ia & Ca).
      destruct (granted_first h r F at_b at_b b tb r (le_n _) Hb Rb eq_refl) as (b' & VB & NB & QB & ub & _ & Ib & Cb).
      rewrite <- Ia, <- Ib in Hid.
      destruct (lie_apart h r F _ _ _ _ _ _ _ _ Ca Cb) as [X | X]; try (cbv [size] in X; simpl in X; lia);
        intros m t n k A; apply act_is_real in A; destruct A as (o & A); cbn in A;
        eapply other_id_was_not_there; eauto. }
    split; [assumption |]. intro Hbefore.
    destruct (grant_stands h r F at_a a ta r Ha Ra eq_refl) as (VA & NA & QA & SA).
    destruct (grant_stands h r F at_b b tb r Hb Rb eq_refl) as (VB & NB & QB & SB).
    assert (ta r <= tb r) as Le.
    { eapply (not_lower h r F); [exact SA | exact SB | | now exists a, b, r].
      eapply acts_come_after; [exact F | exact I | exact Hs | lia]. }
    split; [assumption |]. intro Hid. specialize (Differ Hid). lia.
  Qed.

  (* ---- Seats ---------------------------------------------------------------------------------------------- *)

  Theorem fine_gives_seats : forall h, history_is_fine h -> seats_in_order slot_of h.
  Proof.
    intros h F a b ta tb at_a at_b r s Ha Hb Fr Ra Sb E.
    destruct (grant_stands h r F at_a a ta r Ha Ra eq_refl) as (VA & NA & QA & SA).
    destruct (granted_first h r F at_b at_b b tb s (le_n _) Hb Sb (eq_sym E)) as (b' & VB & NB & QB & ub & _ & Ib & Cb).
    rewrite <- Ib in Fr.
    assert (ta r + size (Plan (For_lock b' s) VB NB) <= tb s) as X; [| cbv [size] in X; simpl in X; lia].
    eapply (higher_at_the_counter h r F); [apply stands_covered; exact SA | exact Cb | |].
    - eapply fresh_comes_after; eassumption.
    - intros m t n k _ Ht. eapply fresh_was_not_there; [eassumption | lia].
  Qed.

  (* The writer's locks are given all at once: where a member gave it one, no reader had another. *)
  Lemma group_acts_at_once : forall h t m w r s V n o, act h t m (Lock_of w r V) n o -> In s (what w) ->
    exists n' o', act h t m (Lock_of w s V) n' o'.
  Proof.
    intros h t m w r s V n o (e & H & A) Hs. inversion A; subst.
    - exists (x s), (o0 s), (Answered w m V x o0). split; [assumption | now constructor].
    - exists (x s), (o0 s), (Confirmed w m V x o0). split; [assumption | now constructor].
  Qed.

  Theorem fine_gives_reader_after_writer : forall h, history_is_fine h -> reader_after_writer slot_of h.
  Proof.
    intros h F w b tw tb at_w at_b start_b r s Hw Hb Hs Hlt Hid Rw Sw Sb E.
    destruct (grant_stands h r F at_w w tw r Hw Rw eq_refl) as (VA & NA & QA & SA).
    destruct (grant_stands h r F at_b b tb s Hb Sb (eq_sym E)) as (VB & NB & QB & SB).
    eapply (not_lower_at_the_counter h r F); [apply stands_covered; exact SA | exact SB | |].
    - eapply acts_come_after; [exact F | exact I | exact Hs | lia].
    - intros m t n k A _. apply act_is_real in A. destruct A as (o & A). cbn in A.
      destruct (group_acts_at_once h t m w r s _ n o A Sw) as (n' & o' & A').
      eapply other_id_was_not_there; eassumption.
  Qed.

  (* ---- Named counters --------------------------------------------------------------------------------------- *)

  Theorem fine_gives_blocks : forall h, history_is_fine h -> blocks_in_order slot_of h.
  Proof.
    intros h F c d nc nd at_c at_d start_d Hc Hd Hs E D.
    assert (forall t e n, slot_of (counts e) = slot_of (counts c) -> happened h t (Agreed e n) ->
              exists V N Q, counted h (counts c) (Plan (For_values e) V N) n Q t) as St.
    { intros t e n Ee He. destruct (f_agreed _ _ _ F t e n He) as (_ & Q & V & N & HQ & Hf & X). exists V, N, Q.
      split; [assumption | split; [exact Hf |]]. intros m Hm. destruct (X m Hm) as (t' & Ht & A). exists t'. split; [assumption |].
      exists taken. split; [assumption | split; [exact Ee | split; auto]]. }
    assert (forall e e' V N V' N' m t n k, act_at h (counts c) t m (Plan (For_values e) V N) n k -> e <> e' ->
              was_not_there h t m (Plan (For_values e') V' N')) as Not.
    { intros e e' V N V' N' m t n k (o & (x & Hx & A) & _) De W n' Hn'. inversion A; subst.
      pose proof (happened_once _ _ _ _ _ Hx Hn') as X. now injection X. }
    destruct (St at_c c nc eq_refl Hc) as (VC & NC & QC & SC). destruct (St at_d d nd (eq_sym E) Hd) as (VD & ND & QD & SD).
    split.
    - apply (lie_apart h (counts c) F _ _ _ _ _ _ _ _ SC SD); intros m t n k A; eapply Not; eauto.
    - intro Hlt. eapply (higher_at_the_counter h (counts c) F (Plan (For_values c) VC NC) nc QC at_c (Plan (For_values d) VD ND));
        [apply stands_covered, counted_stands; exact SC | exact SD | |].
      + eapply acts_come_after; [exact F | exact I | exact Hs | lia].
      + intros m t n k A _. eapply Not; eassumption.
  Qed.

  (* ---- Breaks ------------------------------------------------------------------------------------------------ *)

  Theorem fine_gives_breaks : forall h, history_is_fine h -> breaks_in_order slot_of h.
  Proof.
    intros h F b a t at_b at_a r Hb Ha Fr Ra E.
    destruct (f_broken _ _ _ F at_b b Hb) as (QB & VB & NB & HQ & Hf & HB).
    assert (covered h r (Plan (For_break b) VB NB) (S (token b)) QB at_b) as SB.
    { split; [assumption | split; [exact Hf |]]. intros m Hm. destruct (HB m Hm) as (t' & n & o & Ht & Hn & A).
      exists t', n, (match o with taken => true | _ => false end). split; [assumption | split; [lia |]].
      exists o. split; [assumption | split; [now symmetry |]]. destruct o; split; congruence. }
    destruct (granted_first h r F at_a at_a a t r (le_n _) Ha Ra eq_refl) as (a' & VA & NA & QA & ua & _ & Ia & Ca).
    rewrite <- Ia in Fr.
    assert (S (token b) + size (Plan (For_lock a' r) VA NA) <= t r) as X; [| cbv [size] in X; simpl in X; lia].
    eapply (higher_at_the_counter h r F); [exact SB | exact Ca | |].
    - eapply fresh_comes_after; eassumption.
    - intros m t' n k _ Ht. eapply fresh_was_not_there; [eassumption | lia].
  Qed.

  Theorem reachable_is_fine : forall s, reachable slot_of slots quorum as_designed s -> history_is_fine (history s).
  Proof.
    intros s (s0 & H0 & Hs). apply (kept_by_steps slot_of slots quorum slots_are_all s0 s Hs).
    eapply fine_at_first. exact H0.
  Qed.
End Promises.
